"""The driver requires a GPU to be reset before it can be used again."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.reset import reset_commands
from gpudoctor.queries.cards import ACTIONS, RESTARTS, OnAddress, nvidia_addresses, required_action, reset_since
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, query

_REQUIRED = "NV_ERR_RESET_REQUIRED"  # src/common/sdk/nvidia/inc/nvstatuscodes.h, open-gpu-kernel-modules
_IMEX = "recover-imex-domain"  # programs of one machine still run
# Running programs may continue; nothing new should start.
_RUNS_ON = ("drain", "drain-and-reset", "Drain P2P", "Drain and Reset")


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    where = "On the host: " if in_container(on.facts) else ""
    verify = query("nvidia-smi", "-q", "-i", on.number)
    wanted = required_action(on) or ""
    if wanted in RESTARTS:
        message = f"{where}stop the running programs, and reboot: the driver requires more than a GPU reset."
        return (Fix(_upper(message), (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=verify),)
    if wanted == _IMEX:
        message = f"{where}restart nvidia-imex on this machine and on the others of its NVLink domain."
        command = as_root("systemctl", "restart", "nvidia-imex")
        return (Fix(_upper(message), (command,), "restart-process", root=True, verify=query("nvidia-imex-ctl", "-N")),)
    if wanted in _RUNS_ON:
        message = f"{where}start no new program on this GPU, let the running ones end, then reset it."
    else:
        message = f"{where}stop every program that uses the GPU, then reset it."
    reset = Fix(_upper(message), reset_commands(on), "reset-gpu", root=True, verify=verify)
    return (reset, Fix("Reboot.", (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=verify))


def _upper(message: str) -> str:
    return message[:1].upper() + message[1:]


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
    wanted = required_action(on)
    if wanted is None:
        return _refused(on)
    severity = Severity.WARNING if wanted in (*_RUNS_ON, _IMEX) else None
    if wanted in ACTIONS:
        message = f"The driver reports that {on.name} needs {ACTIONS[wanted]} (recovery action)."
    else:
        message = f"{on.name}: the driver requires {wanted!r} (Xid 154)."
    return Problem(message, texts(on.xids(154)), severity=severity)


def _refused(on: OnAddress) -> Problem | None:
    """What the driver returns for each new program, of GPUs whose first error is in the log no more."""
    found = tuple(event for event in on.events("driver-error") if _REQUIRED in event.text)
    if not found or on.gpu is None or reset_since(on.gpu):
        return None
    return Problem(f"{on.name} requires a reset: the driver refuses new programs ({_REQUIRED}).", texts(found))
