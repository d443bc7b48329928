"""Copies between host and GPU are slower than their PCIe link."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again
from gpudoctor.knowledge import pcie
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.smoke import OnTests, gpu_tests, sentence
from gpudoctor.queries.smoke_cause_groups import LINK
from gpudoctor.queries.smoke_speed import Share, share
from gpudoctor.tasks import cmd, filtered, query
from gpudoctor.tasks.placeholders import PROGRAM

# Healthy links carry 0.79 to 0.88 of their rate (nvbandwidth, ml-engineering); Azure takes out H100 nodes under 0.76,
# A100 nodes under 0.67, V100 nodes under 0.60.
_LOW, _BAD = 0.75, 0.60


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "transfer")
    node = known_or(on.gpu.numa_node, None) if on.gpu else None
    place = "NODE" if node is None else str(node)
    commands = (
        query("nvidia-smi", "topo", "-m"),
        cmd("numactl", f"--cpunodebind={place}", f"--membind={place}", PROGRAM),
    )
    message = "Run programs on the processor that the GPU hangs on, with memory from there."
    near = Fix(message, commands, "change-environment", impact="none", verify=verify)
    message = (
        "Look in the firmware's set-up (BIOS) for power saving of PCIe (ASPM), relaxed ordering and NUMA settings, "
        "and in the kernel's log for errors of the link."
    )
    look = Fix(
        message,
        (filtered(query("dmesg", root=True), query("grep", "-iE", "AER|pcie")),),
        root=True,
        needs="reboot",
        verify=verify,
    )
    return near, look


@check(
    title="Copies between host and GPU are slow",
    severity=Severity.ERROR,
    cause="Copies from pinned memory reach much less than the link's own rate under load: memory of the far "
    "processor (NUMA), an IOMMU that translates, errors on the link, or a slot that shares its lanes.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvbandwidth",
        "https://github.com/Azure/azurehpc-health-checks",
    ),
    targets=partial(gpu_tests, name="transfer", figure="h2d pinned"),
    caused_by=(*LINK, "smoke.memory-not-pinned"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def slow_link(on: OnTests) -> Problem | None:
    """Both directions against the link as it was during the test."""
    (test, *_) = on.tests
    ways = [("to the GPU", "h2d pinned"), ("to the host", "d2h pinned")]
    reached = [(words, found) for words, name in ways if (found := share(on.on, test, name))]
    slow = [(words, found) for words, found in reached if found.part < _low(on, found)]
    if not slow:
        return None
    message = f"{on.name} copies {' and '.join(f'{found.words} {words}' for words, found in slow)}."
    evidence = [reached[0][1].limit.source]
    affinity = test.notes.get("affinity")
    evidence += [affinity] if isinstance(affinity, str) else []
    bad = min(found.part for _, found in slow) < _BAD and hypervisor(on.facts) is None
    return Problem(sentence(message), tuple(evidence), severity=None if bad else Severity.WARNING)


def _low(on: OnTests, found: Share) -> float:
    """The part under which it is slow: what is usual, or what a cloud takes nodes out for, whichever is less."""
    during = on.tests[0].during
    generation, width = known_or(during.link_generation, None), known_or(during.link_width, None)
    alarm = pcie.low_bandwidth(generation, width) if generation and width else None
    return min(_LOW, alarm / found.limit.value) if alarm else _LOW
