"""A GPU's power limit is far below its default."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.gpus import mobile, virtual
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query

# Limits of 70% to 90% are a common choice, which costs a few percent of speed; below that it costs much.
_FAR_BELOW = 0.65


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    usual, limit = known_or(on.gpu.power_default, None) or 0, known_or(on.gpu.power_limit, None) or 0
    stem = ("nvidia-smi", "-i", on.gpu.index, "-pl")
    raise_it = Fix(
        f"If this is not on purpose, set it back to the default, {usual:.0f} W, where cooling and power supply allow "
        "it; look for a service that sets it at boot.",
        (as_root(*stem, f"{usual:.0f}"), query("systemctl", "list-units", "*nvidia*", "*power*")),
        "change-environment",
        root=True,
        undo=(as_root(*stem, f"{limit:.0f}"),),
        verify=query("nvidia-smi", "-i", on.gpu.index, "--query-gpu=power.limit,power.default_limit", "--format=csv"),
    )
    return (raise_it,)


@check(
    title="GPU power limit is far below its default",
    severity=Severity.ADVICE,
    cause="nvidia-smi -pl, or a service at boot, lowered the power that the GPU may draw. Under load it throttles to "
    "stay below it, so long computations take longer.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvidia-smi/index.html",),
    targets=nvidia_gpus,
    caused_by=("health.power-capped", "health.power-brake", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def power_limit_lowered(on: OnGpu) -> str | None:
    """Compare the enforced limit with the default; a laptop's firmware changes its own all the time."""
    if virtual(on.facts, on.gpu) or mobile(on.facts, on.gpu):
        return None
    limit, usual = known(on.gpu.power_limit), known(on.gpu.power_default)
    if not limit or not usual or limit >= usual * _FAR_BELOW:
        return None
    return f"The power limit of {gpu_name(on.gpu)} is {limit:.0f} W; its default is {usual:.0f} W."
