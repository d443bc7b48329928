"""A power limit far below the card's default."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.subjects import OnGpu, gpu_name, nvidia_gpus

# Many lower the limit by a tenth or a fifth, which costs a few per cent of speed; below, clocks fall far.
_FAR = 0.75


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    limit, usual, index = known(on.gpu.power_limit), known(on.gpu.power_default), on.gpu.index
    return (
        Fix(
            f"If nobody meant it (cooling, power supply, noise), set the default again, {usual:.0f} W.",
            (f"sudo nvidia-smi -i {index} -pl {usual:.0f}",),
            "change-environment",
            root=True,
            undo=f"sudo nvidia-smi -i {index} -pl {limit:.0f}",
            verify=f"nvidia-smi -i {index} --query-gpu=power.limit,power.default_limit --format=csv",
        ),
    )


@check(
    title="A GPU's power limit was set far below its default",
    severity=Severity.ADVICE,
    cause="Under load the GPU lowers its clocks until it keeps the limit. Somebody set it by nvidia-smi -pl or a "
    "service that runs at start; it holds until the driver is loaded again.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvidia-smi/index.html",),
    each=nvidia_gpus,
    because=("health.power-capped", "health.power-brake"),
    affects=("everything",),
    seen=("table 2026-11",),
)
def power_limit_lowered(on: OnGpu) -> Problem | None:
    """The enforced limit is below three quarters of the default; a laptop's firmware moves its own."""
    if known_or(on.facts.host.platform, "") == "laptop":
        return None
    usual = known(on.gpu.power_default)
    if not usual:
        return None
    limit = known(on.gpu.power_limit)
    if not limit or limit >= usual * _FAR:
        return None
    return Problem(f"{gpu_name(on.gpu)} is limited to {limit:.0f} W; its default is {usual:.0f} W.")
