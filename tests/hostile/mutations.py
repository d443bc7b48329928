"""Mutates files as a stranger, or a disk, would: the same seed gives the same file."""

import json
import os
from random import Random
from typing import Any

# How many files each fuzzing test makes; GPUDOCTOR_FUZZ=3000 looks longer.
FILES = int(os.environ.get("GPUDOCTOR_FUZZ", "60"))

Path = tuple[str | int, ...]

INTEGERS = [
    0, 1, -1, 2, 7, 255, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
    -(2**31), -(2**63), -(2**63) - 1, 10**30, 10**308, 10**309, 10**400, -(10**400), 10**4000,
]  # fmt: skip
FLOATS = [0.0, -0.0, 1e-320, 5e-324, 0.1, -1.5, 1e15, 1e16, 1e100, 1.7e308, -1.7e308]
# Numbers that JSON has not, or that no float holds: written as they stand here.
RAW_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "0x10", "01", "1.", "-", "1_000"]
MARK = "<script>alert(1)</script>"
TEXTS = [
    "", " ", ".", "-", "0", "x", "None", "null", "unknown", "dev", "v1.2", "1", "1.", "1..2", ".5", "\u00b2", "\u0663",
    "1.2.3.4.5.6.7.8.9", "12.4", "999999999.9", "-1.0", "1e9", "\u0661.\u0662", "\u00b2.0", "\uff11\uff12",
    "1" * 20, "9" * 5000, "9." * 3000, "0.0.0", "2.7.1+cu126", "2.0a0+git", "a" * 100_000, "/" * 3000,
    "\n", "\r\n", "a\nb", "\t", "\x00", "a\x00b",
    "\x1b[31m", "\x1b]0;title\x07", "\x9b31m", "\x7f", "\x08" * 9, "\u2028", "\u2029", "\u202e", "\u2066x", "\u200b",
    "\ufeff", "\ufffe", "\uffff", "\U000e0041", "\ud800", "\udc9b", "\ud83d", "a\u0301" * 50, "\U0001f600", "\u0130",
    MARK, "</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "<!--", "-->", "]]>", "&lt;", "&#0;",
    "<![CDATA[", "'\"`", "$(touch x)", "`touch x`", "; touch x", "&& touch x", "| touch x", "\\", "%s%n", "{0}", "{x}",
    "%0A::error::x", "::error::x", "\n::error::x", "##[error]x", "Bail out!", "\nBail out! x", "not ok 1", "1..0",
    "a | b=1", "```", "\n```\n", "[x](javascript:alert(1))", "[bold]x[/bold]", "@everyone", "#1", "=cmd|'/C calc'!A0",
    "../../etc/passwd", "~", "-rf", "--help", "-", "//", "\\\\host\\share", "C:\\", "file:///etc/passwd",
    "2026-11-21T03:00:00Z", "2026-02-30T03:00:00Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60Z", "now", "2026-11-21",
    "2026-11-21T03:00:00+99:99", "-1", "0000:01:00.0", "ffff:ff:ff.f", "GPU-0", "0-15", "0-99999999999", "1-", "5-1",
    "0," * 5000, "sm_90", "sm_" + "9" * 5000, "compute_", "gfx", "gfx1100", "gfx" + "f" * 99, "nvidia", "amd", "intel",
    "Windows", "Darwin", "Linux", "torch", "jax", "wsl", "jetson", "cuda", "rocm", "666", "8", "rwx", "550.54.14",
]  # fmt: skip
# Files whose new values are of the kind of the old ones: they are not refused for their kind alone, and get further.
POLITE = 0.7


class Raw(str):
    """A text that stands in the file as it is."""


def paths(node: Any, path: Path = ()) -> list[Path]:
    """The places of a tree that hold a value; an unknown value is one."""
    if isinstance(node, dict) and set(node) != {"unknown"}:
        return [one for key, value in node.items() for one in paths(value, (*path, key))] or [path]
    if isinstance(node, list):
        return [one for number, value in enumerate(node) for one in paths(value, (*path, number))] or [path]
    return [path]


def wild(random: Random, old: Any, polite: bool = False) -> Any:
    """A value that no machine has.

    Args:
        random: what chooses.
        old: the value that is there.
        polite: keep to its kind.
    """
    if polite or random.random() < 0.5:
        if isinstance(old, bool):
            return not old
        if isinstance(old, int):
            return random.choice(INTEGERS)
        if isinstance(old, float):
            return random.choice([*FLOATS, *INTEGERS])
        if isinstance(old, str):
            text = random.choice(TEXTS)
            return random.choice([text, text, text, old + text, text + old, old[: len(old) // 2] + text])
        if isinstance(old, dict) and set(old) == {"unknown"}:
            return {"unknown": random.choice(TEXTS)}
    if polite:
        return old
    return random.choice(
        [None, True, False, random.choice(INTEGERS), random.choice(FLOATS), random.choice(TEXTS), [], {}, [[]],
         [random.choice(INTEGERS)], [random.choice(TEXTS)] * 2, {"x": 1}, {"unknown": random.choice(TEXTS)},
         {"unknown": 3}, Raw(random.choice(RAW_NUMBERS)), Raw("[" * 2000 + "]" * 2000)]
    )  # fmt: skip


def mutated(tree: Any, random: Random) -> Any:
    """The tree with some values changed, lost or repeated."""
    tree = json.loads(json.dumps(tree))
    polite = random.random() < POLITE
    for _ in range(random.choice([1, 1, 2, 3, 8, 25] if polite else [1, 2, 4])):
        places = paths(tree)
        path = random.choice(places)
        if not path:
            return wild(random, tree)
        node = tree
        for step in path[:-1]:
            node = node[step]
        action, last = random.random(), path[-1]
        if action < 0.9:
            node[last] = wild(random, node[last], polite)
        elif action < 0.94 and not polite:
            del node[last]
        elif isinstance(node, list):
            node.extend([node[int(last)]] * random.choice([1, 3, 40]))
        elif isinstance(node, dict):
            node[random.choice([*TEXTS[:40], "schema", "new"])] = node[last]
    return tree


def written(tree: Any, random: Random) -> bytes:
    """The tree as JSON; now and then with what is wrong with JSON itself."""
    parts: list[str] = []
    _write(tree, parts)
    text = "".join(parts)
    what = random.random()
    if what < 0.02:
        text = text[: random.randrange(len(text) + 1)]
    elif what < 0.04 and text.startswith("{"):
        text = '{"schema": "x", ' + text[1:]
    elif what < 0.05 and text.endswith("}"):
        text = text[:-1] + ', "' + "[" * random.choice([1, 100_000]) + '"'
    data = text.encode("utf-8", "surrogatepass")
    if what > 0.98:
        at = random.randrange(len(data) + 1)
        data = data[:at] + bytes(random.randrange(256) for _ in range(3)) + data[at + 3 :]
    return (b"\xef\xbb\xbf" if 0.97 < what <= 0.975 else b"") + data


def _write(node: Any, parts: list[str]) -> None:
    if isinstance(node, Raw):
        parts.append(str(node))
    elif isinstance(node, dict):
        parts.append("{")
        for number, (key, value) in enumerate(node.items()):
            parts.append(("," if number else "") + json.dumps(key) + ":")
            _write(value, parts)
        parts.append("}")
    elif isinstance(node, list):
        parts.append("[")
        for number, value in enumerate(node):
            parts.append("," if number else "")
            _write(value, parts)
        parts.append("]")
    elif isinstance(node, int) and not isinstance(node, bool):
        parts.append(_digits(node))
    else:
        parts.append(json.dumps(node))


def _digits(number: int) -> str:
    """A whole number of any length: Python itself refuses to write those of more than 4,300 digits."""
    return format(number, "d") if abs(number) < 10**4000 else ("-" if number < 0 else "") + "1" + "0" * 4000
