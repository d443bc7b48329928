"""Packets were retransmitted over the PCIe link."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.queries.smoke import OnDevice, called, growth, smoke_gpus
from gpudoctor.tasks import filtered, query

# DCGM fails a GPU above 80 a minute. A few come with every change of the link's generation, however short the test.
_A_MINUTE, _FEW = 80.0, 8


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    message = "Reseat the card, clean its contacts, remove or replace the riser, and check the kernel log."
    return (
        Fix(
            message,
            (filtered(query("dmesg", root=True), query("grep", "-iE", "AER|pcie")),),
            "replace-hardware",
            root=True,
            verify=on_gpu(on.gpu, "transfer"),
        ),
    )


@check(
    title="PCIe replays: packets were retransmitted",
    severity=Severity.WARNING,
    cause="Packets arrived damaged and were retransmitted: the data is right, but the link is slower, and its "
    "contacts, riser or slot are marginal.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html",),
    targets=smoke_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset", "link.narrow-pcie"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def pcie_replays(on: OnDevice) -> Problem | None:
    """How many replays there were, and in how many seconds of tests."""
    number, tests = growth(on.tests, "pcie_replays")
    seconds = sum(test.seconds or 0.0 for test in tests)
    if number < _FEW or not seconds or number * 60 / seconds <= _A_MINUTE:
        return None
    where = ", ".join(dict.fromkeys(called(test) for test in tests))
    return Problem(
        f"{number} packets were retransmitted (PCIe replays) on the link of {on.name} in {seconds:.1f} s ({where})."
    )
