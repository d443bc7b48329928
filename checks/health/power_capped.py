"""A power cap keeps the clocks far below what the GPU can reach."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.driver import newest_release, release_before
from gpudoctor.fixes.laptop import start_powerd, stop_powerd
from gpudoctor.knowledge.regressions import regressions
from gpudoctor.maybe import Unknown, known, known_or, phrase
from gpudoctor.queries.gpus import LIMITED, busy, mobile
from gpudoctor.queries.power import boost_errors, impossible_power, missing_boost
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query

# A GPU that runs at 70% of its maximum clock in dense matmul is healthy (H100 at 700 W: about 1400 of
# 1980 MHz).
_LOW = 0.7
# A GPU that draws more than this part of its default limit works as designed, however low its clock: cards
# of 70 W fall near their base clock (T4: 585 of 1590 MHz). A cap that acts below comes from the board or its supply.
_FAR_BELOW = 0.8
# A laptop's GPU so far below its clock loses half of its speed, whatever Dynamic Boost adds.
_HALF = 0.5
# A limit below this part of the default was set by an administrator.
_LOWERED = 0.9
_READING = (
    "The driver compares the power that it reads with the limit (SW power cap). A reading that is stuck far above "
    "everything that the board can draw keeps the cap active for good, and the clocks at their lowest: the sensor's "
    "value is wrong, not the power. Known from releases of driver, kernel and firmware that do not fit this GPU."
)
_BASE = (
    "A laptop's firmware starts the GPU at its base power (TGP). Only NVIDIA's daemon nvidia-powerd (Dynamic Boost) "
    "raises the limit under load, by the power that the CPU leaves; without it the GPU stays at its base power."
)
_SUPPLY = (
    "Check the card's power: the power supply (PSU) and its cables, all connectors of the board, and a power cap set "
    "in the server's management (BMC, iDRAC); then its cooling."
)
_CHARGER = (
    "Use the charger that came with the laptop, in its own socket, and the power profile for performance: with a "
    "weaker one (USB-C, a dock), on battery or in a quiet profile the firmware lowers the limit. Then its cooling."
)
_REFUSED = (
    "nvidia-powerd cannot control Dynamic Boost on this firmware (SBIOS), and while it runs the driver keeps the GPU "
    "at a fallback limit below its base power."
)


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
    laptop = mobile(on.facts, on.gpu)
    fixes.append(
        Fix(
            _CHARGER if laptop else _SUPPLY,
            (query("nvidia-smi", "-q", "-d", "POWER,PERFORMANCE", "-i", index),),
            None if laptop else "replace-hardware",
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
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1162",
    ),
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
    if reasons is None or "sw-power-cap" not in reasons or not busy(on.gpu, 50, LIMITED):
        return None
    clock, most = known(on.gpu.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not most or clock >= most * _LOW:
        return None
    if special := _impossible(on, clock, most) or _without_boost(on, clock, most):
        return special
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
    return Problem(message, _unread(on) if low else (), severity=None if odd and not meant else Severity.ADVICE)


def _unread(on: OnGpu) -> tuple[str, ...]:
    """That a laptop's lowered limit may be nvidia-powerd's, where its messages cannot be read."""
    errors = boost_errors(on.facts)
    if not isinstance(errors, Unknown) or not mobile(on.facts, on.gpu):
        return ()
    if known_or(on.facts.nvidia.kernel.power_daemon, "active") != "active":
        return ()
    return (f"Whether nvidia-powerd reports that the firmware refuses Dynamic Boost is unknown: {errors.unknown}",)


def _impossible(on: OnGpu, clock: int, most: int) -> Problem | None:
    if not impossible_power(on.gpu):
        return None
    release = known_or(on.facts.nvidia.kernel.loaded, None)
    bugs = regressions("nvidia", release, sign="impossible-power") if release else ()
    known_for = "".join(f" Driver {release or ''} is known for that: {bug.what} ({bug.source})." for bug in bugs)
    watts = phrase("{:.0f} W", on.gpu.power) + phrase(" of a limit of {:.0f} W", on.gpu.power_limit)
    message = f"An impossible power reading throttles {gpu_name(on.gpu)} to {clock} of {most} MHz under load: {watts}."
    back = "If it began with an update: go back to the driver, kernel and firmware from before it, then reboot."
    fixes = (
        release_before(on.facts, back),
        newest_release(
            on.facts, "Otherwise update the driver, kernel and firmware to their newest releases, and reboot."
        ),
    )
    return Problem(f"{message}{known_for}", cause=_READING, fixes=fixes, not_caused_by=("health.overheated",))


def _without_boost(on: OnGpu, clock: int, most: int) -> Problem | None:
    why = missing_boost(on.facts, on.gpu)
    if why is None:
        return None
    limit, top = phrase("{:.0f} W", on.gpu.power_limit), phrase(" of at most {:.0f} W", on.gpu.power_max)
    slow = f"runs at {clock} of {most} MHz under load"
    if why == "refused":
        base = phrase(" (default {:.0f} W)", on.gpu.power_default)
        message = (
            f"{gpu_name(on.gpu)} is held at a power limit of {limit}{base} and {slow}; nvidia-powerd reports errors."
        )
        evidence = tuple(line.text for line in known_or(boost_errors(on.facts), ()))
        return Problem(message, evidence, cause=_REFUSED, fixes=stop_powerd())
    daemon = {None: "is not installed", "no-unit": "is installed without its service"}.get(
        known_or(on.facts.nvidia.kernel.power_daemon, None), "is not running"
    )
    message = f"{gpu_name(on.gpu)} is held at its base power of {limit}{top} and {slow}"
    # Without the board's maximum nobody knows how much there is to gain.
    severity = None if top or clock < most * _HALF else Severity.ADVICE
    message = f"{message}: nvidia-powerd (Dynamic Boost) {daemon}."
    return Problem(message, severity=severity, cause=_BASE, fixes=start_powerd(on.facts))
