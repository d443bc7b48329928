"""Reads CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES as the drivers do."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.digits import number_of

QUOTES = "'\"\u201c\u201d\u2018\u2019"  # straight ones, and those that word processors make of them


class Mask(msgspec.Struct, frozen=True):
    """What a mask leaves of a list of GPUs.

    Attributes:
        visible: positions in the list, in the mask's order.
        bad: the entry at which reading stopped; None: every entry was read.
        why: what is wrong with it: "index", "uuid", "ambiguous", "malformed", "negative", "twice"; None: nothing.
        lost: the entries behind it, which are not read any more.
    """

    visible: tuple[int, ...] = ()
    bad: str | None = None
    why: str | None = None
    lost: tuple[str, ...] = ()


def cuda(text: str, uuids: Sequence[str | None]) -> Mask:
    """Read CUDA_VISIBLE_DEVICES against GPUs, given by their UUIDs in order (None: not known).

    Entries are indices, or UUIDs that may be cut short, GPU-... or MIG-...; reading stops at the first invalid
    one; an entry that appears twice leaves no GPU at all
    (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables, and the reading of it in
    https://github.com/pytorch/pytorch/blob/main/torch/cuda/__init__.py). MIG entries cannot be compared with
    GPUs and count as position -1.
    """
    entries = text.split(",")
    visible: list[int] = []
    for place, entry in enumerate(entries):
        found, why = _uuid(entry, uuids) if entry.startswith(("GPU-", "MIG-")) else _index(entry, len(uuids))
        if found is None:
            return Mask(tuple(visible), entry, why, tuple(entries[place + 1 :]))
        if found in visible and found >= 0:
            return Mask((), entry, "twice", ())
        visible.append(found)
    return Mask(tuple(visible))


def _index(entry: str, count: int) -> tuple[int | None, str | None]:
    """The number with which an entry begins; the driver reads like strtol(3): "1gpu" is 1."""
    found = re.match(r"[+-]?[0-9]{1,18}", entry.strip())
    if found is None:
        return None, "malformed"
    number = int(found[0])
    if number < 0:
        return None, "negative"
    return (number, None) if number < count else (None, "index")


def _uuid(entry: str, uuids: Sequence[str | None]) -> tuple[int | None, str | None]:
    if entry.startswith("MIG-"):
        return -1, None
    fits = [place for place, uuid in enumerate(uuids) if uuid is not None and uuid.startswith(entry)]
    if len(fits) == 1:
        return fits[0], None
    return None, "ambiguous" if fits else "uuid"


def hip(text: str, uuids: Sequence[str | None]) -> Mask:
    """Read HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES as HIP reads it, against the GPUs that ROCr shows.

    An empty text hides nothing; an index has to be written plainly; reading stops at the first invalid entry, and
    an entry that appears twice counts once (Device::init in
    https://github.com/ROCm/clr/blob/amd-staging/rocclr/device/rocm/rocdevice.cpp).
    """
    return Mask(tuple(range(len(uuids)))) if text == "" else _amd(text, uuids, twice=False)


def rocr(text: str, uuids: Sequence[str | None]) -> Mask:
    """Read ROCR_VISIBLE_DEVICES against the GPUs in KFD's order; an empty text hides all of them.

    https://github.com/ROCm/ROCR-Runtime/blob/amd-staging/runtime/hsa-runtime/core/inc/amd_filter_device.h
    """
    return Mask((), "", "malformed") if text == "" else _amd(text, uuids, twice=True)


def _amd(text: str, uuids: Sequence[str | None], *, twice: bool) -> Mask:
    entries = text.split(",")
    visible: list[int] = []
    for place, entry in enumerate(entries):
        word = entry.strip() if twice else entry
        found, why = _uuid(word, uuids) if word.startswith("GPU-") else _plain(word, len(uuids))
        if found is not None and found in visible:
            if not twice:
                continue
            found, why = None, "twice"
        if found is None:
            return Mask(tuple(visible), entry, why, tuple(entries[place + 1 :]))
        visible.append(found)
    return Mask(tuple(visible))


def _plain(word: str, count: int) -> tuple[int | None, str | None]:
    if re.fullmatch(r"-\d+", word):
        return None, "negative"
    number = number_of(word)
    if number is None:
        return None, "malformed"
    return (number, None) if number < count else (None, "index")


def is_quoted(text: str) -> bool:
    """Whether the value itself holds quotation marks, as env files and compose lists pass them on."""
    return any(mark in text for mark in QUOTES)


def listed(numbers: Iterable[int]) -> str:
    """Positions as a mask: "0,1"."""
    return ",".join(str(n) for n in numbers)
