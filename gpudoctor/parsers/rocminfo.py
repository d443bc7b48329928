"""What `rocminfo` prints (ROCm/rocminfo, rocminfo.cc): the agents of ROCm's runtime, or the call that failed."""

import re

import msgspec

from gpudoctor.digits import number_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.parsers.numbers import hexadecimal

# It writes colors into pipes, too.
_COLOR = pattern(r"\x1b\[[0-9;]*m")
# Without hsa_status_string it prints the number: releases up to 2.x as "4104", later ones as "0x1008".
_STATUS = pattern(r"Call returned (HSA_\w{1,99}|0x[0-9a-f]{1,8}|[0-9]{1,9})\b")
_NUMBERS = {0x1000: "HSA_STATUS_ERROR", 0x1008: "HSA_STATUS_ERROR_OUT_OF_RESOURCES"}
_TELLING = pattern(
    r"hsa api call failure|Call returned |Unable to open |Agent creation failed|unrecognized id|unsupported GPU"
)
_AGENT = pattern(r"^\*+\nAgent \d+\s*\n\*+$", re.MULTILINE)
_LIST = "HSA Agents"
_DONE = "*** Done ***"  # at the end of the list, in every release
_LONGEST, _MOST = 300, 6


class Listing(msgspec.Struct, frozen=True):
    """What it printed.

    `gpus` are the target and the name of each GPU; None: it did not get to the end of the list of agents. `status` is
    what the failed call returned, and `lines` are those that name what failed.
    """

    gpus: tuple[tuple[str, str | None], ...] | None
    status: str | None
    lines: tuple[str, ...]


def parse(text: str) -> Listing:
    """Return what it printed.

    Args:
        text: its standard output, and what ROCr warns of on standard error.
    """
    plain = "\n".join(line.rstrip() for line in _COLOR.sub("", text).splitlines())
    listed = plain.partition(_LIST)[2].rpartition(_DONE)[0]
    telling = [line.strip()[:_LONGEST] for line in plain.splitlines() if _TELLING.search(line)]
    failed = None if _DONE in plain else _STATUS.search(plain)
    return Listing(
        tuple(filter(None, map(_gpu, _AGENT.split(listed)[1:]))) if listed else None,
        _named(failed[1]) if failed else None,
        tuple(dict.fromkeys(telling))[:_MOST],
    )


def _named(status: str) -> str:
    number = hexadecimal(status) if status.startswith("0x") else number_of(status)
    return _NUMBERS.get(number, status) if number else status


def _gpu(block: str) -> tuple[str, str | None] | None:
    """An agent's target and name, where it is a GPU; its memory and instruction sets come after them."""
    found: dict[str, str] = {}
    for line in block.splitlines():
        label, _, value = line.strip().partition(":")
        found.setdefault(label, value.strip())
    if found.get("Device Type") != "GPU" or not found.get("Name"):
        return None
    return found["Name"], found.get("Marketing Name") or None
