"""Reads os-release, https://www.freedesktop.org/software/systemd/man/latest/os-release.html."""

import re


def os_release(text: str) -> dict[str, str]:
    """Return the fields of /etc/os-release, without their quotes; lines that are no assignment are passed over."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, assigns, value = line.strip().partition("=")
        if assigns and name.isidentifier() and name.isascii():
            fields[name] = _unquoted(value)
    return fields


def _unquoted(value: str) -> str:
    if len(value) < 2 or value[0] not in "\"'" or value[-1] != value[0]:
        return value
    inner = value[1:-1]
    return re.sub(r"\\([\\\"'$`])", r"\1", inner) if value[0] == '"' and "\\" in inner else inner
