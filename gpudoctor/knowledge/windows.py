"""What the Device Manager's codes mean, and which GPUs AMD serves on Windows."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class RocmOnWindows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """AMD's wheels for Windows."""

    gfx: str


class WindowsTable(KnowledgeTable, frozen=True):
    """The table ``windows.toml``."""

    codes: dict[str, tuple[str, str]]
    rocm: RocmOnWindows


@cache
def _nt() -> WindowsTable:
    return load("windows", WindowsTable)


def meaning(code: int) -> tuple[str, str] | None:
    """Return what a code of the Device Manager means, and what helps; None where it is well or passes by itself."""
    return _nt().codes.get(str(code))


def rocm_serves(gfx: str) -> bool:
    """Whether AMD's wheels of PyTorch for Windows have code for this target."""
    return gfx in _nt().rocm.gfx.split()
