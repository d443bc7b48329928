"""Bytes are corrupted on the way to the device and back."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, hardware
from gpudoctor.queries.smoke import OnTests, count, each, many, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before
from gpudoctor.tasks import filtered, query


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    if on.run.kind == "cpu":
        return hardware(on.facts, on.run, on.gpu)
    message = "Reseat the card, avoid risers, and reset any PCIe, memory and CPU overclocking to defaults."
    seat = Fix(message, (), "replace-hardware", needs="reboot", verify=again(on.run, "transfer"))
    look = filtered(query("dmesg", root=True), query("grep", "-iE", "AER|pcie|iommu|dmar"))
    log = Fix("Look for link errors in the kernel log.", (look,), root=True, impact="none")
    return (log, seat, *hardware(on.facts, on.run, on.gpu)[:1])


def _words(test: SmokeTest) -> str | None:
    whole, pieces = count(test, "differing"), count(test, "pieces_differing")
    if not whole and not pieces:
        return None
    large = f"{many(whole, 'byte')} in the whole buffer" if whole else ""
    small = f"{many(pieces, 'byte')} in small pieces" if pieces else ""
    return " and ".join(filter(None, (large, small)))


@check(
    title="Corrupted copies between host and device",
    severity=Severity.ERROR,
    cause="Data copied to the device and back differs from what was sent: the link, the IOMMU, host memory or device "
    "memory corrupts it. Nothing computed from it can be right.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/PCI/pcieaer-howto.html",
        "https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html",
    ),
    targets=partial(smoke_tests, name="transfer"),
    caused_by=(*wrong_before("smoke.corrupted-copy"), "device.bar-unassigned"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def corrupted_copy(on: OnTests) -> Problem | None:
    """Bytes that differ after the round trip, in one piece and in small ones."""
    found = each(on.tests, _words)
    if not found:
        return None
    return Problem(sentence(f"{on.name}: {'; '.join(found)} came back corrupted."))
