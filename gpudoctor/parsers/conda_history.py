"""Reads conda-meta/history of a conda environment, which conda and mamba write at the end of each transaction.

Format: conda, conda/history.py (class History): a header with the local time, the command line, and a line for each
package that was unlinked (-) or linked (+).
"""

import re

import msgspec

_HEADER = re.compile(r"^==> (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) <==$", re.M)
_LINE = re.compile(r"^([+-])(?:\S*::)?(\S+)-([^-\s]+)-([^-\s]+)$", re.M)
_COMMAND = re.compile(r"^# cmd: (.*)$", re.M)


class CondaChange(msgspec.Struct, frozen=True):
    """The last transaction that put a package into an environment."""

    time: str
    command: str | None
    old: str | None  # version and build: "2.3.0 py3.11_cuda12.1_cudnn8.9.2_0"; None: it was not there
    new: str


def last_change(text: str, name: str) -> CondaChange | None:
    """Return the last transaction that installed a package; None where none did.

    Args:
        text: the file's content.
        name: conda's name of the package.
    """
    _, *parts = _HEADER.split(text)
    for time, body in reversed(list(zip(parts[::2], parts[1::2], strict=True))):
        versions = {sign: f"{version} {build}" for sign, found, version, build in _LINE.findall(body) if found == name}
        if "+" in versions:
            command = _COMMAND.search(body)
            return CondaChange(time, command[1].strip()[:300] if command else None, versions.get("-"), versions["+"])
    return None
