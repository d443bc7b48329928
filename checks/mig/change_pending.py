"""A MIG mode change waits for a reset."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.reset import to_take_effect
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    return (to_take_effect(on, "mig"),)


@check(
    title="MIG mode change is pending: GPU needs a reset",
    severity=Severity.WARNING,
    cause="Enabling or disabling MIG needs a GPU reset; while a program (or the desktop) uses the GPU the change "
    "stays pending.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
        "https://github.com/NVIDIA/mig-parted/issues/181",
        "https://github.com/NVIDIA/gpu-operator/issues/118",
    ),
    targets=nvidia_gpus,
    caused_by=("device.needs-reset", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def change_pending(on: OnGpu) -> str | None:
    """Compare the mode now with the one after a reset."""
    if on.gpu.mig is None:
        return None
    now, later = known(on.gpu.mig), known(on.gpu.mig_pending)
    if later is None or now == later:
        return None
    word = {True: "enabled", False: "disabled"}
    return f"MIG is {word[bool(now)]} on {gpu_name(on.gpu)} and will be {word[later]} after its next reset."
