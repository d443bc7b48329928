"""The GPU throttled under load."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.limits import lower
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.smoke import REPORTED, OnDevice, each, smoke_gpus
from gpudoctor.tasks import query

_LOADS = ("matmul", "stress")  # the tests that keep the multiprocessors busy
# NVML's reasons: those that protect the hardware, and those that only keep it at its target.
_HARD = ("hw-thermal-slowdown", "hw-power-brake", "hw-slowdown")
_NAMED = ("hw-thermal-slowdown", "hw-power-brake")
_SOFT, _CAP = "sw-thermal-slowdown", "sw-power-cap"
# Parts of the highest clock. At its power limit a healthy H100 runs matmul at about 0.75 of it, and 70 W cards at
# less than half, so a power cap matters only where the card draws far less than its limit.
_GRAVE, _THROTTLED, _WARM = 0.70, 0.90, 0.80
_FAR_BELOW = 0.8

Found = tuple[Severity, str]


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    laptop = known_or(on.facts.host.platform, "") == "laptop"
    cool = "Improve cooling: clean fans and filters, and check the airflow (a passive card needs server airflow)."
    if laptop:
        cool = "Improve cooling: clean fans and vents, and select the performance power profile, on AC power."
    power = "Check the card's power: power supply, cables, and a power cap set by the server's BMC."
    verify = query(*on_gpu(on.gpu, "stress").argv, "--seconds", 60)
    fixes = [Fix(cool, (), "improve-cooling", verify=verify), Fix(power, (), "replace-hardware", verify=verify)]
    less = lower(on.gpu) if on.gpu.vendor == "nvidia" else None
    if less:
        message = "Until then lower its clocks or its power limit."
        fixes.append(Fix(message, less[:1], "change-environment", root=True, undo=less[1:], verify=verify))
    return tuple(fixes)


@check(
    title="GPU throttled under load",
    severity=Severity.WARNING,
    cause="The driver throttled the clocks while the tests ran: heat, the power supply, or a signal from the board. "
    "Performance drops, and a GPU that gets even hotter shuts off.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    targets=smoke_gpus,
    caused_by=("health.overheated", "health.power-brake", "health.power-capped", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def throttled(on: OnDevice) -> Problem | None:
    """What throttled the clocks in the tests that load the GPU, and how far."""
    found = each((t for t in on.tests if t.name in _LOADS and t.outcome in REPORTED), lambda test: _judged(on, test))
    if not found:
        return None
    severity, text = min(found, key=lambda one: list(Severity).index(one[0]))
    heat = [h for t in on.tests if (h := known_or(t.during.temperature, None)) is not None]
    degrees = f"; maximum temperature {max(heat):.0f} degrees C" if heat else ""
    return Problem(f"{on.name} {text}{degrees}.", severity=severity)


def _judged(on: OnDevice, test: SmokeTest) -> Found | None:
    reasons = known(test.during.reasons)
    if not reasons or not set(reasons) & {*_HARD, _SOFT, _CAP}:
        return None
    clock, maximum = known(test.during.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not maximum:
        return None
    part = clock / maximum
    hard = [r for r in reasons if r in _HARD]
    text = f"ran at {clock:.0f} of {maximum} MHz in {test.name} {test.variant}".rstrip()
    if hard and part < _GRAVE:
        return Severity.ERROR, f"{text}: {', '.join(hard)}"
    if part < _THROTTLED and set(hard) & set(_NAMED):
        return Severity.WARNING, f"{text}: {', '.join(hard)}"
    laptop = known_or(on.facts.host.platform, "") == "laptop"
    mild = Severity.ADVICE if laptop else Severity.WARNING
    if _SOFT in reasons and part < _WARM:
        return mild, f"{text}: {_SOFT}"
    capped = _capped(on, test)
    return (mild, f"{text}: {capped}") if part < _GRAVE and _CAP in reasons and capped else None


def _capped(on: OnDevice, test: SmokeTest) -> str | None:
    """The text for a power cap that acts far below the card's own limit."""
    draw, limit = known_or(test.during.power, None), known_or(on.gpu.power_limit, None)
    if draw is None or not limit or draw >= limit * _FAR_BELOW:
        return None
    return f"{_CAP}, although it drew only {draw:.0f} of {limit:.0f} W"
