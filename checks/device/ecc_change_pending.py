"""A change of the ECC mode waits for a reset."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.reset import to_take_effect
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    return (to_take_effect(on, "ecc"),)


@check(
    title="A change of the ECC mode waits for a reset",
    severity=Severity.ADVICE,
    cause="ECC is switched on or off when the GPU is reset or the machine boots; until then the old mode stays active.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceCommands.html",),
    targets=nvidia_gpus,
    caused_by=("device.needs-reset", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def ecc_change_pending(on: OnGpu) -> str | None:
    """Compare the mode now with the one after the next reset."""
    now = known(on.gpu.ecc)
    if now is None:
        return None
    later = known(on.gpu.ecc_pending)
    if later is None or later == now:
        return None
    word = {True: "on", False: "off"}
    return f"ECC of {gpu_name(on.gpu)} is {word[now]} and will be {word[later]} after its next reset."
