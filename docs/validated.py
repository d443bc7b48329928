"""The page docs/checks/validated.md: what each check was seen on, of scripts/evidence.py."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gpudoctor import catalogue, checks
from gpudoctor.check_engine import Check
from scripts.evidence import LEVELS, PROVEN, level, proofs

NAMES = {
    "hardware": "Real hardware",
    "environment": "Real environment",
    "simulated": "Simulated host",
    "facts": "Facts of a machine",
    "table": "Table rows only",
}


def page() -> str:
    """The whole page, without the line that says who made it."""
    every = catalogue.load(checks.ids())
    at = {name: [one for one in every if level(one) == name] for name in LEVELS}
    repaired = sum(any(proof.repaired for proof in proofs().get(one.id, ())) for one in every)
    lines = [
        "# What each check was seen on",
        "",
        f"{len(at['hardware'])} of {len(every)} checks were seen to find their problem on real hardware. "
        f"{repaired} were seen in a real environment in which typing the first fix, as printed, removed the problem.",
        "",
        "Each check is listed once, under the strongest evidence that it finds its problem, with the month. That it "
        "raises no alarm on healthy machines is tested for every check.",
        "",
        "| strongest evidence | checks | what it is |",
        "|---|---|---|",
        *(f"| [{NAMES[name]}](#{_anchor(name)}) | {len(at[name])} | {text} |" for name, text in LEVELS.items()),
        "",
        "A bundle from a machine with a GPU moves a check to the top: "
        "[CONTRIBUTING.md](../../CONTRIBUTING.md#from-a-bundle-to-a-test).",
    ]
    for name in LEVELS:
        lines += [
            "",
            f"## {NAMES[name]}",
            "",
            *(_table(at[name]) if name in ("hardware", *PROVEN) else _areas(at[name])),
        ]
    return "\n".join(lines) + "\n"


def _anchor(name: str) -> str:
    return NAMES[name].lower().replace(" ", "-")


def _table(found: list[Check[Any]]) -> Iterator[str]:
    """A row a check, with the tests that prove it."""
    if not found:
        yield "None."
        return
    yield from ("| check | month | test |", "|---|---|---|")
    for one in found:
        proven = [proof for proof in proofs().get(one.id, ()) if proof.level == level(one)]
        tests = dict.fromkeys(proof.file for proof in proven)
        typed = {proof.file for proof in proven if proof.repaired}
        links = ", ".join(f"[`{file}`](../../{file}){' (repaired by typing)' * (file in typed)}" for file in tests)
        yield f"| {_link(one)} | {_month(one)} | {links} |"


def _areas(found: list[Check[Any]]) -> Iterator[str]:
    """A line an area and month, because nothing else can be said of them."""
    for month, area in dict.fromkeys((_month(one), one.area) for one in found):
        links = ", ".join(_link(one) for one in found if (_month(one), one.area) == (month, area))
        yield f"- {area}, {month}: {links}"
    if not found:
        yield "None."


def _link(one: Check[Any]) -> str:
    return f"[`{one.id}`]({one.id.replace('.', '/')}.md)"


def _month(one: Check[Any]) -> str:
    return one.validated_on[0].split()[1].rstrip(":")
