"""Writes expectations as TOML, with what each is for people."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from gpudoctor import __version__
from gpudoctor.facts import Facts
from gpudoctor.report.sanitize import clean

HEAD = """\
# A healthy machine, recorded by `gpudoctor record` (gpudoctor {version}) on {date}.
# `gpudoctor check --expect FILE` compares a machine with it; as ./gpudoctor.toml, or in /etc/gpudoctor/expect.d,
# it is read automatically. Edit it as needed: docs/expectations.md lists all operators.
"""


class TomlEntry(NamedTuple):
    """One expectation to write.

    Attributes:
        path: through the facts.
        operator: its name.
        value: what to compare with.
        comment: one sentence for people; "": none.
        off: whether it is written as a comment.
        above: lines for people that stand before it.
    """

    path: str
    operator: str
    value: str | bool | int | float
    comment: str = ""
    off: bool = False
    above: tuple[str, ...] = ()


def written(entries: Iterable[TomlEntry], facts: Facts, doubts: str = "") -> str:
    """The file; `doubts` is a sentence about the whole machine."""
    head = HEAD.format(version=__version__, date=_line(facts.created[:10]) or "an unknown day")
    return "\n".join([head + (f"# {_line(doubts)}\n" if doubts else ""), *(_entry(one) for one in entries)])


def _entry(one: TomlEntry) -> str:
    mark = "# " * one.off
    lines = [*(f"# {_line(text)}" for text in one.above), *([""] if one.above else [])]
    lines += [f"# {_line(one.comment)}"] if one.comment else []
    lines += [f"{mark}[expect.{quoted(one.path)}]", f"{mark}{one.operator} = {_value(one.value)}"]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """A text from the machine on one line, as a comment has to be."""
    return " ".join(clean(text).split())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """A basic string of TOML: whatever is no plain letter stands as an escape."""
    return '"' + "".join(_sign(sign) for sign in text) + '"'


def _sign(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    if " " <= sign <= "~":
        return sign
    number = ord(sign) if not 0xD800 <= ord(sign) <= 0xDFFF else 0xFFFD  # a byte that was no UTF-8
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
