"""Reads what an installed distribution says of itself: METADATA's head, INSTALLER and RECORD.

importlib.metadata takes 35 ms to import and parses whole files; these readers stop at the first blank line.
The formats are those of https://packaging.python.org/en/latest/specifications/core-metadata/ and
https://packaging.python.org/en/latest/specifications/recording-installed-packages/.
"""

import re
from collections.abc import Iterator

import msgspec

# The longest heads, with hundreds of extras, have some 100 kB.
_LONGEST_HEAD = 1 << 20


class MetadataHeader(msgspec.Struct, frozen=True):
    """The head of a METADATA file; None or empty where it does not say.

    `name` is as written, not normalised. `requires` holds the requirements with their markers.
    """

    name: str | None = None
    version: str | None = None
    requires: tuple[str, ...] = ()
    requires_python: str | None = None


def read_head(content: str | bytes) -> MetadataHeader:
    """Return a METADATA file's head, however broken it is: what cannot be read stays None.

    Args:
        content: the file, or at least its head; bytes that are not UTF-8 are replaced.
    """
    fields: dict[str, list[str]] = {}
    for name, value in _fields(_text(content)):
        fields.setdefault(name, []).append(value)

    def first(name: str) -> str | None:
        return next((value for value in fields.get(name, ()) if value), None)

    requires = tuple(value for value in fields.get("requires-dist", ()) if value)
    return MetadataHeader(first("name"), first("version"), requires, first("requires-python"))


def normalise(name: str) -> str:
    """Return a distribution's name in its normal form, https://peps.python.org/pep-0503/#normalized-names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required_name(requirement: str) -> str:
    """Return the name of the distribution that a requirement begins with, as written; "" where there is none."""
    return re.match(r"[\w.-]*", requirement)[0]  # type: ignore[index]


def is_optional(requirement: str) -> bool:
    """Whether a requirement is one of an extra alone, by its marker: "torch>=2; extra == 'gpu'"."""
    return "extra" in requirement.partition(";")[2]


def read_installer(content: str | bytes) -> str | None:
    """Return the name in an INSTALLER file, such as pip, uv or conda; None where it is empty."""
    line = _text(content).strip().partition("\n")[0].strip()
    return line.lower() or None


def _text(content: str | bytes) -> str:
    head = content[:_LONGEST_HEAD]
    return head.decode("utf-8-sig", "replace") if isinstance(head, bytes) else head.removeprefix("\ufeff")


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields up to the first blank line: names in small letters, folded lines joined by a blank."""
    name, value = "", ""
    for line in _head_lines(text):
        if line[0] in " \t":
            value = f"{value} {line.strip()}".strip()
            continue
        if name:
            yield name, value
        name, _colon, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
    if name:
        yield name, value


def _head_lines(text: str) -> Iterator[str]:
    for whole in text.partition("\n\n")[0].split("\n"):
        line = whole.rstrip("\r")
        if not line:
            return
        yield line
