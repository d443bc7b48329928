"""What the error numbers of CUDA, NVML, HIP, the NVIDIA driver (Xid) and NVSwitch (SXid) mean."""

import re
from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load

XidClass = Literal["application", "driver", "hardware", "informational"]
Severity = Literal["always_fatal", "fatal", "non_fatal", "other_notable"]


class ErrorRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of code, name, meaning, causes.

    Attributes:
        rows: they.
        init: the codes whose causes hold where the library's start returns them.
        reboot: those of a GPU that only a reboot brings back where the library does not start.
        reload: those of a driver that starts afresh when its modules are loaded again.
        container: causes that there are in containers alone, by code.
    """

    rows: tuple[tuple[int, str, str, str], ...]
    init: tuple[int, ...] = ()
    reboot: tuple[int, ...] = ()
    reload: tuple[int, ...] = ()
    container: dict[int, str] = {}


class Errors(KnowledgeTable, frozen=True):
    """The tables ``cuda_errors.toml`` and ``nvml_errors.toml``."""

    error: ErrorRows
    recovery: dict[int, str] = msgspec.field(default_factory=dict)


class XidRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of code, mnemonic, meaning, class, action, NVIDIA's action."""

    rows: tuple[tuple[int, str, str, XidClass, str, str], ...]


class Xids(KnowledgeTable, frozen=True):
    """The table ``xids.toml``."""

    xid: XidRows


class Sxids(KnowledgeTable, frozen=True):
    """The table ``sxids.toml``."""

    sxid: dict[Severity, tuple[tuple[int, str], ...]]


class NvlinkRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of Xid, unit, two bit patterns, status, action, severity."""

    rows: tuple[tuple[int, str, str, str, int, str, str], ...]


class Nvlink5(KnowledgeTable, frozen=True):
    """The table ``nvlink5.toml``."""

    nvlink5: NvlinkRows


class Error(msgspec.Struct, frozen=True):
    """An error number: its name, what it means, and the usual causes; in a container others come first."""

    code: int
    name: str
    meaning: str
    causes: str
    in_container: str = ""


class Xid(msgspec.Struct, frozen=True):
    """An Xid error: who is at fault, and what to do; nvidia_action is NVIDIA's word for it, or None."""

    code: int
    mnemonic: str
    meaning: str
    fault: XidClass
    action: str
    nvidia_action: str | None


class Sxid(msgspec.Struct, frozen=True):
    """An error of NVSwitch."""

    code: int
    name: str
    severity: Severity


class NvlinkError(msgspec.Struct, frozen=True):
    """An NVLink 5 error: the unit that reports it, NVIDIA's action, and Fatal, Link Fatal or Non-fatal."""

    unit: str
    nvidia_action: str
    severity: str


def cuda_error(code: int) -> Error | None:
    """Return what a CUDA driver or runtime error number means, or None where it is not in the table."""
    return _errors("cuda_errors").get(code)


def cuda_error_named(name: str) -> Error | None:
    """Return the error of a name such as "CUDA_ERROR_NO_DEVICE", or None where it is not in the table."""
    return next((error for error in _errors("cuda_errors").values() if error.name == name), None)


def nvml_error(code: int) -> Error | None:
    """Return what an NVML return code means, or None where it is not in the table."""
    return _errors("nvml_errors").get(code)


def holds_at_start(code: int) -> bool:
    """Whether the usual causes of an NVML code are those of nvmlInit as well; others are of a question to a GPU."""
    return code in load("nvml_errors", Errors).error.init


def needs_reboot(code: int) -> bool:
    """Whether an NVML code that nvmlInit returns is of a GPU that only a reboot brings back."""
    return code in load("nvml_errors", Errors).error.reboot


def needs_reload(code: int) -> bool:
    """Whether an NVML code that nvmlInit returns is of a driver that starts afresh when its modules are reloaded."""
    return code in load("nvml_errors", Errors).error.reload


@cache
def recovery_action(value: int) -> str | None:
    """Return NVML's name for a recommended recovery action: 1 is "GPU_RESET"."""
    return load("nvml_errors", Errors).recovery.get(value)


def xid(code: int) -> Xid | None:
    """Return what an Xid error means, or None where NVIDIA does not document it."""
    return _xids().get(code)


@cache
def sxid(code: int) -> Sxid | None:
    """Return what an SXid error of NVSwitch means, or None where it is not documented."""
    for severity, rows in load("sxids", Sxids).sxid.items():
        for number, name in rows:
            if number == code:
                return Sxid(number, name, severity)
    return None


def nvlink5_error(code: int, information: int, status: int) -> NvlinkError | None:
    """Return what the first two numbers of an Xid from 144 to 150 stand for, or None."""
    bits = f"{information:032b}"
    for number, unit, old, new, row_status, action, severity in load("nvlink5", Nvlink5).nvlink5.rows:
        if number == code and row_status == status and (_fits(old, bits) or _fits(new, bits)):
            return NvlinkError(unit, action, severity)
    return None


def nvlink5_error_of(code: int, text: str) -> NvlinkError | None:
    """Return what the text after an Xid from 144 to 150 stands for: "... Link 09 (0x025001c6 0x0 ...)"."""
    found = re.search(r"\((0x[0-9a-fA-F]+) (0x[0-9a-fA-F]+)", text)
    return nvlink5_error(code, int(found[1], 16), int(found[2], 16)) if found else None


@cache
def _errors(name: str) -> dict[int, Error]:
    table = load(name, Errors).error
    return {row[0]: Error(*row, table.container.get(row[0], "")) for row in table.rows}


@cache
def _xid_table() -> Xids:
    return load("xids", Xids)


@cache
def _xids() -> dict[int, Xid]:
    return {row[0]: Xid(*row[:5], row[5] or None) for row in _xid_table().xid.rows}


def _fits(pattern: str, bits: str) -> bool:
    return all(p in ("-", b) for p, b in zip(pattern, bits, strict=False))
