"""Lowers a GPU's clocks or power limit, as far as the GPU supports it."""

from gpudoctor.facts import Gpu
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Command, as_root

# nvidia-smi --lock-gpu-clocks is for Volta and newer (nvidia-smi(1)).
_LOCKS_CLOCKS = 7.0
# Of the current limit: enough to notice, and above the minimum of all cards.
_PART = 0.8


def lower(gpu: Gpu, number: str | int | None = None) -> tuple[Command, Command] | None:
    """The command that makes a GPU run cooler and the one that undoes it; None where nothing is known to work.

    Args:
        gpu: the GPU.
        number: what nvidia-smi takes for it; None: its index.
    """
    number = gpu.index if number is None else number
    capability = known_or(gpu.capability, None)
    if capability is not None and float(capability) >= _LOCKS_CLOCKS:
        return (
            as_root("nvidia-smi", "-i", number, "-lgc", "300,1200"),
            as_root("nvidia-smi", "-i", number, "-rgc"),
        )
    limit = known_or(gpu.power_limit, None)
    if limit:
        stem = ("nvidia-smi", "-i", number, "-pl")
        return as_root(*stem, f"{limit * _PART:.0f}"), as_root(*stem, f"{limit:.0f}")
    return None
