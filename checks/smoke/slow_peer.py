"""Copies between GPUs are slow."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, each, gpu_tests, sentence
from gpudoctor.queries.smoke.speed import PEER, share
from gpudoctor.tasks import query

_SHOWN = 4  # pairs that a message lists


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    message = "Check the links, their error counters and the topology; restart the fabric manager on NVSwitch systems."
    commands = (
        query("nvidia-smi", "nvlink", "--status"),
        query("nvidia-smi", "nvlink", "-e"),
        query("nvidia-smi", "topo", "-p2p", "r"),
    )
    return (Fix(message, commands, impact="none", verify=again(on.run, "peer")),)


def _slow(on: OnTests, test: SmokeTest) -> tuple[Severity, str] | None:
    reached = share(on.on, test, "rate")
    severity = PEER.severity(reached.part) if reached else None
    if reached is None or severity is None:
        return None
    direct = ", not directly" if test.notes.get("can_access") is False else ""
    return severity, f"{test.variant.replace('-', ' to ')}: {reached.words}{direct}"


@check(
    title="GPU-to-GPU copies are slower than NVLink allows",
    severity=Severity.ERROR,
    cause="NVLink switches connect the GPUs, but copies reach far less than the links' rate: links are down or replay "
    "packets, or copies take another path, such as PCIe.",
    fixes=_fixes,
    references=("https://github.com/stas00/ml-engineering/tree/master/network",),
    targets=partial(gpu_tests, name="peer", figure="rate"),
    caused_by=("smoke.busy", "link.nvlink-down", "device.nvlink-fault", "fabric.*", "smoke.corrupted-peer"),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def slow_peer(on: OnTests) -> Problem | None:
    """Each pair compared with all NVLinks of one GPU; other paths have no known limit."""
    found = each(on.tests, lambda test: _slow(on, test))
    if not found:
        return None
    worst = Severity.ERROR if Severity.ERROR in [severity for severity, _ in found] else Severity.WARNING
    more = f" and {len(found) - _SHOWN} more pairs" if len(found) > _SHOWN else ""
    pairs = "; ".join(text for _, text in found[:_SHOWN])
    return Problem(sentence(f"{on.name} copies slowly between GPUs: {pairs}{more}."), severity=worst)
