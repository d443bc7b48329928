"""The GPU slowed down under load."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.limits import lower
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.smoke import TOLD, OnDevice, each, smoke_gpus
from gpudoctor.tasks import query

_LOADS = ("matmul", "stress")  # the tests that keep the processors busy
# Reasons by NVML: what protects the hardware, and what only keeps it at its target.
_HARD = ("hw-thermal-slowdown", "hw-power-brake", "hw-slowdown")
_NAMED = ("hw-thermal-slowdown", "hw-power-brake")
_SOFT, _CAP = "sw-thermal-slowdown", "sw-power-cap"
# Parts of the highest clock. At its power limit a healthy H100 multiplies at about 0.75 of it, and cards of 70 W at
# less than half, so a power cap says something only where the card draws far less than it may.
_GRAVE, _HELD, _WARM = 0.70, 0.90, 0.80
_FAR_BELOW = 0.8

Found = tuple[Severity, str]


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    laptop = known_or(on.facts.host.platform, "") == "laptop"
    cool = "Cool the GPU: clean fans and filters, and give it air (a passive card needs a server's airflow)."
    if laptop:
        cool = "Cool the GPU: clean fans and vents, and choose the power profile for performance, on mains power."
    power = "Check what feeds the card: power supply, its cables, and a power cap of the server's management (BMC)."
    verify = query(*on_gpu(on.gpu, "stress").argv, "--seconds", 60)
    fixes = [Fix(cool, (), "replace-hardware", verify=verify), Fix(power, (), "replace-hardware", verify=verify)]
    less = lower(on.gpu) if on.gpu.vendor == "nvidia" else None
    if less:
        message = "Until then let it do less: lower its clocks or its power limit."
        fixes.append(Fix(message, less[:1], "change-environment", root=True, undo=less[1:], verify=verify))
    return tuple(fixes)


@check(
    title="A GPU slowed down under load",
    severity=Severity.WARNING,
    cause="The driver held the clocks down while the tests ran: heat, the power supply, or a signal of the board. "
    "Speeds suffer, and a GPU that gets hotter still switches off.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    targets=smoke_gpus,
    caused_by=("health.overheated", "health.power-brake", "health.power-capped", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def throttled(on: OnDevice) -> Problem | None:
    """What held the clocks in the tests that load the GPU, and how far down they were."""
    found = each((t for t in on.tests if t.name in _LOADS and t.outcome in TOLD), lambda test: _held(on, test))
    if not found:
        return None
    severity, words = min(found, key=lambda one: list(Severity).index(one[0]))
    heat = [h for t in on.tests if (h := known_or(t.during.temperature, None)) is not None]
    degrees = f"; it was {max(heat):.0f} degrees C hot" if heat else ""
    return Problem(f"{on.name} {words}{degrees}.", severity=severity)


def _held(on: OnDevice, test: SmokeTest) -> Found | None:
    reasons = known(test.during.reasons)
    if not reasons or not set(reasons) & {*_HARD, _SOFT, _CAP}:
        return None
    clock, most = known(test.during.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not most:
        return None
    part = clock / most
    hard = [r for r in reasons if r in _HARD]
    words = f"ran at {clock:.0f} of {most} MHz in {test.name} {test.variant}".rstrip()
    if hard and part < _GRAVE:
        return Severity.ERROR, f"{words}: {', '.join(hard)}"
    if part < _HELD and set(hard) & set(_NAMED):
        return Severity.WARNING, f"{words}: {', '.join(hard)}"
    laptop = known_or(on.facts.host.platform, "") == "laptop"
    mild = Severity.ADVICE if laptop else Severity.WARNING
    if _SOFT in reasons and part < _WARM:
        return mild, f"{words}: {_SOFT}"
    capped = _capped(on, test)
    return (mild, f"{words}: {capped}") if part < _GRAVE and _CAP in reasons and capped else None


def _capped(on: OnDevice, test: SmokeTest) -> str | None:
    """The words for a power cap that acts far below the card's own limit."""
    draw, limit = known_or(test.during.power, None), known_or(on.gpu.power_limit, None)
    if draw is None or not limit or draw >= limit * _FAR_BELOW:
        return None
    return f"{_CAP}, though it drew {draw:.0f} of {limit:.0f} W"
