"""What frameworks ask of macOS, and which of Apple's plug-ins fits which release."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class Floors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """First release of PyTorch and the macOS that it needs, newest first."""

    rows: tuple[tuple[str, str], ...]


class Metals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Release of tensorflow-metal, first and last TensorFlow, newest first."""

    rows: tuple[tuple[str, str, str], ...]


class JaxMetal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of jax-metal."""

    newest: str


class AppleTable(KnowledgeTable, frozen=True):
    """The table ``apple.toml``."""

    mps: Floors
    metal: Metals
    jax: JaxMetal


@cache
def apple() -> AppleTable:
    """Return the table, read once."""
    return load("apple", AppleTable)


def macos_for(torch: str) -> str | None:
    """Return the first macOS on which this PyTorch uses the GPU; None for releases before MPS."""
    own = version(torch)
    return next((macos for first, macos in apple().mps.rows if own >= version(first)), None)


def torch_before(macos: str) -> str | None:
    """Return the first PyTorch that this macOS is too old for; None where it is too old for all, or for none."""
    rows, own = apple().mps.rows, version(macos)
    if own < version(rows[-1][1]):
        return None
    return next((first for first, floor in reversed(rows) if own < version(floor)), None)


def metal_fits(metal: str, tensorflow: str) -> bool | None:
    """Say whether a tensorflow-metal loads beside a TensorFlow; None where the plug-in is not in the table."""
    minor = ".".join(metal.split(".")[:2])
    row = next((row for row in apple().metal.rows if row[0] == minor), None)
    return None if row is None else version(row[1]) <= version(tensorflow)[:2] <= version(row[2])
