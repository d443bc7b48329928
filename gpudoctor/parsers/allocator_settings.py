"""Reads PYTORCH_CUDA_ALLOC_CONF as PyTorch's allocator does, which refuses what it does not understand."""

import re

import msgspec

_BOOLEAN = (
    "expandable_segments",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "release_lock_on_cudamalloc",
)
# Blocks of 20 MiB are the unit of large allocations (kLargeBuffer): a smaller limit is refused.
_LEAST_MB = 20


class Setting(msgspec.Struct, frozen=True):
    """One option, its value, and what is wrong with the two wherever the option is known; None: nothing."""

    name: str
    value: str
    wrong: str | None


def settings(text: str) -> tuple[Setting, ...]:
    """Split the variable: commas part options, colons name and value; blanks do not count.

    A list in brackets, as roundup_power2_divisions takes one, is one value.
    """
    parts = re.split(r",(?![^\[]*\])", text.replace(" ", ""))
    found = []
    for part in filter(None, parts):
        name, colon, value = part.partition(":")
        found.append(Setting(name, value, _wrong(name, value) if colon else _without_colon(name)))
    return tuple(found)


def _without_colon(part: str) -> str:
    return "name and value are parted by a colon, not by =" if "=" in part else "a colon and a value have to follow"


def _wrong(name: str, value: str) -> str | None:
    if name in _BOOLEAN:
        return None if value in ("True", "False") else "the value has to be True or False, with a capital letter"
    if name == "max_split_size_mb":
        return _wrong_size(value)
    if name == "garbage_collection_threshold":
        return None if _between(value) else "the value must be between 0.0 and 1.0, both excluded"
    if name == "backend" and not re.fullmatch(r"native|(?:cuda|hip)MallocAsync", value):
        return "the value has to be native or cudaMallocAsync"
    return None


def _wrong_size(value: str) -> str | None:
    number = re.match(r"[0-9]{1,18}", value)
    if number is None:
        return "the value has to be a number of MiB"
    return f"the value has to be greater than {_LEAST_MB}" if int(number[0]) < _LEAST_MB else None


def _between(value: str) -> bool:
    try:
        return 0.0 < float(value) < 1.0
    except ValueError:
        return False
