"""What `rocminfo` prints (ROCm/rocminfo, rocminfo.cc): the agents of ROCm's runtime, or the call that failed."""

import re

import msgspec

from gpudoctor.lazy_regex import pattern

# It writes colors into pipes, too.
_COLOR = pattern(r"\x1b\[[0-9;]*m")
# Without hsa_status_string it prints the number: releases up to 2.x as "4104", later ones as "0x1008".
_STATUS = pattern(r"Call returned (HSA_\w+|0x[0-9a-f]+|\d+)")
_NUMBERS = {0x1000: "HSA_STATUS_ERROR", 0x1008: "HSA_STATUS_ERROR_OUT_OF_RESOURCES"}
_TELLING = pattern(
    r"hsa api call failure|Call returned |Unable to open |Agent creation failed|unrecognized id|unsupported GPU"
)
_AGENT = pattern(r"^\*+\nAgent \d+\s*\n\*+$", re.MULTILINE)
_LIST = "HSA Agents"
_DONE = "*** Done ***"
_LONGEST, _MOST = 300, 6


class Listing(msgspec.Struct, frozen=True):
    """What it printed.

    `gpus` are the target and the name of each GPU; None: it did not get as far as the list of agents. `status` is what
    the failed call returned, and `lines` are those that name what failed.
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
    listed = plain.partition(_LIST)[2] if _LIST in plain else None
    telling = [line.strip()[:_LONGEST] for line in plain.splitlines() if _TELLING.search(line)]
    failed = None if _DONE in plain else _STATUS.search(plain)
    return Listing(
        None if listed is None else tuple(filter(None, map(_gpu, _AGENT.split(listed)[1:]))),
        _named(failed[1]) if failed else None,
        tuple(dict.fromkeys(telling))[:_MOST],
    )


def _named(status: str) -> str:
    return status if status.startswith("HSA_") else _NUMBERS.get(int(status, 0), status)


def _gpu(block: str) -> tuple[str, str | None] | None:
    """An agent's target and name, where it is a GPU; its memory and instruction sets come after them."""
    found: dict[str, str] = {}
    for line in block.splitlines():
        label, _, value = line.strip().partition(":")
        found.setdefault(label, value.strip())
    if found.get("Device Type") != "GPU" or not found.get("Name"):
        return None
    return found["Name"], found.get("Marketing Name") or None
