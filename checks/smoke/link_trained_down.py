"""Under load the PCIe link is slower than card and slot allow."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import has_slot, possible, virtual
from gpudoctor.queries.smoke import REPORTED, OnDevice, each, smoke_gpus
from gpudoctor.tasks import filtered, query

# Idle links run at a low generation and train up under load: only a copy test shows what they can do.
_COPIES = ("transfer", "overlap")


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    message = (
        "Reseat the card, clean its contacts, avoid risers, and check the slot's generation and lanes (bifurcation) "
        "in the BIOS/UEFI setup."
    )
    log = filtered(query("dmesg", root=True), query("grep", "-iE", "AER|pcie"))
    verify = on_gpu(on.gpu, "transfer")
    return (
        Fix(message, (), "replace-hardware", needs="reboot", verify=verify),
        Fix("Look for PCIe errors in the kernel log.", (log,), root=True, impact="none"),
    )


@check(
    title="PCIe link is below the card's and slot's maximum under load",
    severity=Severity.WARNING,
    cause="The link trained to fewer lanes or a lower generation than both sides support: a bad contact, a riser, a "
    "slot that shares its lanes, or link errors.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=smoke_gpus,
    caused_by=("link.narrow-pcie", "link.slow-pcie", "device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def link_trained_down(on: OnDevice) -> Problem | None:
    """The fastest link state seen in a copy test, compared with the maximum of card and slot."""
    tests = [t for t in on.tests if t.name in _COPIES and t.outcome in REPORTED]
    if not tests or not has_slot(on.facts, on.gpu):
        return None
    now = max(each(tests, _seen), default=None)
    maximum = tuple(
        possible(on.facts, on.gpu, name, known(getattr(on.gpu, name)))
        for name in ("link_generation_max", "link_width_max")
    )
    if now is None or maximum[0] is None or maximum[1] is None:
        return None
    return _judged(on, now, (maximum[0], maximum[1]))


def _seen(test: SmokeTest) -> tuple[int, int] | None:
    generation, width = known(test.during.link_generation), known(test.during.link_width)
    return (generation, width) if generation and width else None


def _judged(on: OnDevice, now: tuple[int, int], maximum: tuple[int, int]) -> Problem | None:
    """One generation or half the lanes fewer costs little, and is common on boards with two slots."""
    if now[0] >= maximum[0] and now[1] >= maximum[1]:
        return None
    message = (
        f"The PCIe link of {on.name} ran at generation {now[0]} x{now[1]} under load; card and slot support "
        f"generation {maximum[0]} x{maximum[1]}."
    )
    # Each generation doubles the rate, and so does each doubling of the lanes.
    part = 2.0 ** (now[0] - maximum[0]) * now[1] / maximum[1]
    mild = part >= 1 / 2 or virtual(on.facts, on.gpu)
    return Problem(message, severity=Severity.ADVICE if mild else None)
