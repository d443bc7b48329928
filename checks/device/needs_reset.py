"""The driver requires a GPU to be reset before it can be used again."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.queries.cards import OnAddress, nvidia_addresses, reset_commands
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, query

# "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
_CHANGED = re.compile(r"changed from .*? to 0x[0-9a-fA-F]+ \(([^)]+)\)")
_WORDS = {
    "reset": "a reset",
    "reboot": "a reboot",
    "drain": "to be drained of its programs",
    "drain-and-reset": "to be drained and reset",
    "recover-imex-domain": "a recovery of its IMEX domain",
    "bus-reset": "a reset of its bus",
    "system-reboot": "a reboot",
}
# As NVML names them, and as Xid 154 does.
_RESTARTS = ("reboot", "system-reboot", "Node Reboot Required")
_IMEX = "recover-imex-domain"  # programs of one machine still run
# Running programs may continue; nothing new should start.
_RUNS_ON = ("drain", "drain-and-reset", "Drain P2P", "Drain and Reset")


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    where = "On the host: " if in_container(on.facts) else ""
    verify = query("nvidia-smi", "-q", "-i", on.number)
    wanted = _wanted(on) or ""
    if wanted in _RESTARTS:
        message = f"{where}stop the running programs, and reboot: the driver requires more than a GPU reset."
        return (Fix(_upper(message), (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=verify),)
    if wanted == _IMEX:
        message = f"{where}restart nvidia-imex on this machine and on the others of its NVLink domain."
        command = as_root("systemctl", "restart", "nvidia-imex")
        return (Fix(_upper(message), (command,), "restart-process", root=True, verify=query("nvidia-imex-ctl", "-N")),)
    if wanted in _RUNS_ON:
        message = f"{where}start no new program on this GPU, let the running ones end, then reset it."
    else:
        message = f"{where}stop every program that uses the GPU, then reset it, or reboot."
    return (Fix(_upper(message), (*reset_commands(on), as_root("reboot")), "reset-gpu", root=True, verify=verify),)


def _upper(message: str) -> str:
    return message[:1].upper() + message[1:]


def _wanted(on: OnAddress) -> str | None:
    """The action that NVML reports, else the one in the last Xid 154; None where neither requires one."""
    action = on.gpu.recovery_action if on.gpu is not None else None
    if isinstance(action, str):
        return action if action in _WORDS else None
    logged = [found[1] for e in on.xids(154)[-1:] if (found := _CHANGED.search(e.text))]
    return logged[0] if logged and logged[0].lower() != "none" else None


@check(
    title="GPU requires reset",
    severity=Severity.ERROR,
    cause="After a fatal error the driver blocks the GPU until it is reset (NVML: GPU requires reset).",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/", "https://docs.nvidia.com/deploy/xid-errors/"),
    targets=nvidia_addresses,
    caused_by=(
        "device.fallen-off-the-bus",
        "device.gsp-failed",
        "device.xid-hardware",
        "device.xid-driver",
        "device.nvlink-fault",
        "device.row-remap-failed",
        "device.row-remap-pending",
        "device.ecc-uncorrected",
        "device.retired-pages-pending",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def needs_reset(on: OnAddress) -> Problem | None:
    """NVML's status, or the recovery action that the driver requires: by NVML (from 570 on), or by Xid 154."""
    if on.gpu is None:
        return None
    if on.gpu.status == "reset-required":
        return Problem(f"NVML reports that {on.name} requires a reset.", texts(on.xids(154)))
    wanted = _wanted(on)
    if wanted is None:
        return None
    severity = Severity.WARNING if wanted in (*_RUNS_ON, _IMEX) else None
    if wanted in _WORDS:
        message = f"The driver reports that {on.name} needs {_WORDS[wanted]} (recovery action)."
    else:
        message = f"{on.name}: the driver requires {wanted!r} (Xid 154)."
    return Problem(message, texts(on.xids(154)), severity=severity)
