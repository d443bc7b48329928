"""Texts with a form that checks compute with: anything else is no fact, wherever it comes from."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from gpudoctor.maybe import Unknown

if TYPE_CHECKING:
    from datetime import datetime

# How the reason ends why a fact is unknown of a file system under another root: nothing of it is run.
ANOTHER_ROOT = "under another root"


def not_run(fact: object) -> bool:
    """Whether a fact is unknown because the file system is one under another root (--root)."""
    return isinstance(fact, Unknown) and fact.unknown.endswith(ANOTHER_ROOT)


Capability = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,2}$")]  # compute capability, "8.6"
Release = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,5})?$")]  # CUDA release, "12.4"
# A version that is compared, "2.7.1+cu126": what gpudoctor.knowledge.kernels.version reads; none has 200 letters.
Version = Annotated[
    str, Meta(pattern=r"^[0-9]{1,18}(\.[0-9]{1,18})*($|[^0-9.]|\.($|[^0-9]))", max_length=200, description="a version")
]
# The moment of an examination, "2026-11-21T03:00:00Z"; empty: nobody noted it.
Moment = Annotated[str, Meta(pattern=r"^$|^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$")]

# Numbers. Kernel and drivers count in words of 64 bits; the half of them that is signed is more than any machine holds
# (2**57 bytes can be addressed), and always can be divided as a float.
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]  # codes, in which the sign has a meaning
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # bytes, and what is counted up
# NVML, KFD and the kernel give numbers of devices, users and processes, clocks and percents as 32 bits.
Small = Annotated[int, Meta(ge=0, le=2**32 - 1)]
# NVIDIA's driver numbers its GPUs below 255 (/dev/nvidia255 is the control node), and one has 7 MIG devices at most:
# https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/kernel-open/common/inc/nv-linux.h
Gpus = Annotated[int, Meta(ge=0, le=4096)]
# The PCIe Link Status register has 4 bits for the generation, 6 for the lanes: PCI_EXP_LNKSTA_CLS and _NLW in
# https://github.com/torvalds/linux/blob/master/include/uapi/linux/pci_regs.h
Generation = Annotated[int, Meta(ge=0, le=15)]
Lanes = Annotated[int, Meta(ge=0, le=63)]
Celsius = Annotated[int, Meta(ge=-273, le=10_000)]  # from absolute zero to well over what any chip survives
# 300 years before or after something: no uptime is longer, and dates can still be reckoned with.
Seconds = Annotated[float, Meta(ge=-1e10, le=1e10)]
Duration = Annotated[float, Meta(ge=0, le=1e10)]  # seconds that something took
# Anything else that is measured: a wrong product may be off by the most that a float32 holds (3.4e38), and multiplied
# by a size, or squared, this is a float still.
Number = Annotated[float, Meta(ge=-1e100, le=1e100)]

_EARLIEST = (1, 1, 1, 0, 0, 0)  # year, month, day, hour, minute, second


def is_moment(text: str) -> bool:
    """Whether a text of the form of `Moment` surely names one; `datetime` would take a millisecond to import."""
    parts = text.removesuffix("Z").replace("T", "-").replace(":", "-").split("-")
    if len(parts) != len(_EARLIEST) or not all(part.isdecimal() for part in parts):
        return False
    numbers = tuple(map(int, parts))
    month = numbers[1]
    days = 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    return all(low <= n <= high for low, n, high in zip(_EARLIEST, numbers, (9999, 12, days, 23, 59, 59), strict=True))


def moment(text: str) -> "datetime":
    """The moment that a text names; Python reads the Z from 3.11 on.

    Raises:
        ValueError: it names none, such as the 30th of February.
    """
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00"))
