"""A card's own power cable is missing, so the driver does not start it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import as_root, query

_FIXES = (
    Fix(
        "Shut down, disconnect the power, and plug in every power connector of the card (8-pin, 12V-2x6), each with "
        "its own cable from the power supply, until it clicks.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    ),
    Fix(
        "If all are plugged in: try another cable and another output of the power supply. Tesla cards (P40, M40, "
        "V100) take a CPU's 8-pin plug (EPS), not a graphics card's: the two are wired differently.",
        (),
        "replace-hardware",
        impact="none",
    ),
)


@check(
    title="GPU power cable is missing or not seated",
    severity=Severity.ERROR,
    cause="A card that needs more power than its slot provides has its own power connectors, and senses whether they "
    "are connected. If one is not, the driver rejects the card; nvidia-smi then shows only the other GPUs, or none.",
    fixes=_FIXES,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/src/nvidia/arch/nvalloc/unix/src/osinit.c",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid,power-cables,rm-init-failed gpus.status=no-power",),
    caused_by=("device.fallen-off-the-bus",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def power_cable_missing(on: OnAddress) -> Problem | None:
    """The driver's own message, its status 0x1c (too little power), or Xid 54, on a card that does not respond."""
    if on.answers:
        return None
    refused = on.gpu is not None and on.gpu.status == "no-power"  # NVML's own word for it
    logged = (*on.events("power-cables"), *filter(_starved, on.events("rm-init-failed")), *on.xids(54))
    if not logged and not refused:
        return None
    message = f"{on.name} gets too little power: a power cable of the card is missing or not seated."
    return Problem(message, texts(logged))


def _starved(event: LogEvent) -> bool:
    return failure(event.what.get("code", "")).kind == "power"
