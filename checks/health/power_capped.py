"""A power cap keeps the clocks far below what the GPU can reach."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.gpus import busy, mobile
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query

# A GPU that runs at 70% of its maximum clock in dense matmul is healthy (H100 at 700 W: about 1400 of
# 1980 MHz).
_LOW = 0.7
# A GPU that draws more than this part of its default limit works as designed, however low its clock: cards
# of 70 W fall near their base clock (T4: 585 of 1590 MHz). A cap that acts below comes from the board or its supply.
_FAR_BELOW = 0.8
# A limit below this part of the default was set by an administrator.
_LOWERED = 0.9


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    limit, usual, index = known_or(on.gpu.power_limit, None), known_or(on.gpu.power_default, None), on.gpu.index
    fixes = []
    settable = not mobile(on.facts, on.gpu)  # nvidia-smi sets no limit where a laptop's firmware does
    if settable and limit is not None and usual is not None and limit < usual * _LOWERED:
        message = f"Set the power limit back to the default, {usual:.0f} W, if cooling and power supply allow it."
        undo = as_root("nvidia-smi", "-i", index, "-pl", f"{limit:.0f}")
        fixes.append(
            Fix(
                message,
                (as_root("nvidia-smi", "-i", index, "-pl", f"{usual:.0f}"),),
                "change-environment",
                root=True,
                undo=(undo,),
            )
        )
    fixes.append(
        Fix(
            "Check the card's power: the power supply (PSU) and its cables, all connectors of the board, and a "
            "power cap set in the server's management (BMC, iDRAC); then its cooling.",
            (query("nvidia-smi", "-q", "-d", "POWER,PERFORMANCE", "-i", index),),
            "replace-hardware",
            verify=query(
                "nvidia-smi", "-i", index, "--query-gpu=clocks.sm,clocks.max.sm,power.draw,power.limit", "--format=csv"
            ),
        )
    )
    return tuple(fixes)


@check(
    title="GPU throttled by a power cap (SW power cap)",
    severity=Severity.WARNING,
    cause="The driver lowers the clocks to keep the power below its cap (SW power cap). A lowered limit, or a board "
    "that gets too little power, makes the GPU slow though everything works.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    targets=nvidia_gpus,
    caused_by=(
        "device.xid-hardware",
        "health.overheated",
        "health.power-brake",
        "device.fallen-off-the-bus",
        "device.needs-reset",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def power_capped(on: OnGpu) -> Problem | None:
    """The cap is the reason, the clock is far below the maximum, and the default limit does not explain it."""
    reasons = known(on.gpu.event_reasons)
    if reasons is None or "sw-power-cap" not in reasons or not busy(on.gpu, 50):
        return None
    clock, most = known(on.gpu.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not most or clock >= most * _LOW:
        return None
    draw, limit = known_or(on.gpu.power, None), known_or(on.gpu.power_limit, None)
    usual = known_or(on.gpu.power_default, None)
    odd = draw is not None and limit is not None and draw < limit * _FAR_BELOW
    low = usual is not None and limit is not None and limit < usual * _LOWERED
    if draw is not None and limit is not None and not odd and not low:
        return None
    watts = f" at {draw:.0f} W of a limit of {limit:.0f} W" if draw is not None and limit is not None else ""
    lowered = phrase(" (default {:.0f} W)", usual) if low else ""
    message = (
        f"The power cap throttles {gpu_name(on.gpu)}: it runs at {clock} of {most} MHz under load{watts}{lowered}."
    )
    # A laptop's firmware shares one budget between CPU, GPU and battery; a lowered limit was set on purpose.
    meant = known_or(on.facts.host.platform, "") == "laptop"
    return Problem(message, severity=None if odd and not meant else Severity.ADVICE)
