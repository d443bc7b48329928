"""Copies between GPUs are slow."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, each, gpu_tests, sentence
from gpudoctor.queries.smoke_speed import PEER, share
from gpudoctor.tasks import query

_SHOWN = 4  # pairs that a sentence names


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    message = (
        "Look at the links, their errors and what joins which GPU; restart the fabric manager where NVSwitches are."
    )
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
    title="Copies between GPUs are slower than their NVLinks",
    severity=Severity.ERROR,
    cause="The GPUs are joined by NVLink through switches, and copies reach much less than the links carry: links "
    "are down or repeat packets, or copies take another way, such as over PCIe.",
    fixes=_fixes,
    references=("https://github.com/stas00/ml-engineering/tree/master/network",),
    targets=partial(gpu_tests, name="peer", figure="rate"),
    caused_by=("smoke.busy", "link.nvlink-down", "device.nvlink-fault", "fabric.*", "smoke.corrupted-peer"),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def slow_peer(on: OnTests) -> Problem | None:
    """Each pair against all NVLinks of one GPU; other ways have no limit that is known."""
    found = each(on.tests, lambda test: _slow(on, test))
    if not found:
        return None
    worst = Severity.ERROR if Severity.ERROR in [severity for severity, _ in found] else Severity.WARNING
    more = f" and {len(found) - _SHOWN} more pairs" if len(found) > _SHOWN else ""
    words = "; ".join(words for _, words in found[:_SHOWN])
    return Problem(sentence(f"{on.name} copies slowly between GPUs: {words}{more}."), severity=worst)
