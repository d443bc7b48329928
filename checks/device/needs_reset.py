"""The driver wants a GPU to be reset before anybody uses it again."""

import re

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.subjects import in_container
from gpudoctor.views.cards import OnAddress, nvidia_addresses, reset_commands
from gpudoctor.views.log import texts

# "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
_CHANGED = re.compile(r"changed from .*? to 0x[0-9a-fA-F]+ \(([^)]+)\)")
_WORDS = {
    "reset": "a reset",
    "reboot": "a restart of the computer",
    "drain": "to be drained of its programs",
    "drain-and-reset": "to be drained and reset",
    "recover-imex-domain": "a recovery of its IMEX domain",
    "bus-reset": "a reset of its bus",
    "system-reboot": "a restart of the computer",
}


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    where = "On the host: s" if in_container(on.facts) else "S"
    says = f"{where}top every program that uses the GPU, reset it, or restart the computer."
    verify = f"nvidia-smi -q -i {on.number}"
    return (Fix(says, (*reset_commands(on), "sudo reboot"), "reset-gpu", root=True, verify=verify),)


@check(
    title="A GPU needs a reset",
    severity=Severity.ERROR,
    cause="After a fatal error the driver keeps the GPU from running anything until it is reset (NVML: GPU requires "
    "reset).",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/", "https://docs.nvidia.com/deploy/xid-errors/"),
    each=nvidia_addresses,
    because=(
        "device.fallen-off-the-bus",
        "device.gsp-failed",
        "device.xid-hardware",
        "device.nvlink-fault",
        "device.row-remap-failed",
        "device.row-remap-pending",
        "device.ecc-uncorrected",
        "device.retired-pages-pending",
    ),
    affects=("everything",),
    seen=("simulated 2026-11",),
)
def needs_reset(on: OnAddress) -> Problem | None:
    """NVML's status, or the recovery action that the driver asks for: by NVML (from 570 on), or by Xid 154."""
    if on.gpu is None:
        return None
    if on.gpu.status == "reset-required":
        return Problem(f"{on.name} requires a reset, says NVML.", texts(on.xids(154)))
    wanted = _WORDS.get(on.gpu.recovery_action) if isinstance(on.gpu.recovery_action, str) else None
    if wanted:
        return Problem(f"{on.name} needs {wanted}, says the driver (recovery action).", texts(on.xids(154)))
    said = [found[1] for e in on.xids(154)[-1:] if (found := _CHANGED.search(e.text))]
    if not said or said[0].lower() == "none":
        return None
    return Problem(f"{on.name}: the driver asks for {said[0]!r} (Xid 154).", texts(on.xids(154)))
