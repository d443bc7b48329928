"""A change of the ECC mode waits for a reset."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.reset import reset
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    index = on.gpu.index
    return (
        Fix(
            "Stop every program that uses the GPU and reset it, or reboot.",
            reset(on.facts, index),
            "reset-gpu",
            root=True,
            verify=query("nvidia-smi", "-i", index, "--query-gpu=ecc.mode.current,ecc.mode.pending", "--format=csv"),
        ),
    )


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
