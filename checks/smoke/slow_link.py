"""Copies between host and GPU are slower than the PCIe link allows."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again
from gpudoctor.knowledge import pcie
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.smoke import OnTests, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import LINK
from gpudoctor.queries.smoke.speed import Share, share
from gpudoctor.tasks import cmd, filtered, query
from gpudoctor.tasks.placeholders import PROGRAM

# Healthy links carry 0.79 to 0.88 of their rate (nvbandwidth, ml-engineering); Azure removes H100 nodes under 0.76,
# A100 nodes under 0.67, V100 nodes under 0.60.
_LOW, _BAD = 0.75, 0.60


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "transfer")
    node = known_or(on.gpu.numa_node, None) if on.gpu else None
    numa = "NODE" if node is None else str(node)
    commands = (
        query("nvidia-smi", "topo", "-m"),
        cmd("numactl", f"--cpunodebind={numa}", f"--membind={numa}", PROGRAM),
    )
    message = "Run programs on the CPUs and memory of the GPU's NUMA node."
    near = Fix(message, commands, "change-environment", impact="none", verify=verify)
    message = (
        "Check PCIe power saving (ASPM), relaxed ordering and NUMA settings in the BIOS/UEFI setup, and the kernel "
        "log for link errors."
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
    title="Slow copies between host and GPU",
    severity=Severity.ERROR,
    cause="Copies from pinned memory reach far less than the link's rate: memory on a remote NUMA node, IOMMU "
    "translation, link errors, or a slot that shares its lanes.",
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
    """Both directions compared with the link as it was during the test."""
    (test, *_) = on.tests
    ways = [("to the GPU", "h2d pinned"), ("to the host", "d2h pinned")]
    reached = [(direction, found) for direction, name in ways if (found := share(on.on, test, name))]
    slow = [(direction, found) for direction, found in reached if found.part < _low(on, found)]
    if not slow:
        return None
    message = f"{on.name} copies at {' and '.join(f'{found.words} {direction}' for direction, found in slow)}."
    evidence = [reached[0][1].limit.source]
    affinity = test.notes.get("affinity")
    evidence += [affinity] if isinstance(affinity, str) else []
    bad = min(found.part for _, found in slow) < _BAD and hypervisor(on.facts) is None
    return Problem(sentence(message), tuple(evidence), severity=None if bad else Severity.WARNING)


def _low(on: OnTests, found: Share) -> float:
    """The part under which it is slow: the lower of the usual value and a cloud's threshold for removing nodes."""
    during = on.tests[0].during
    generation, width = known_or(during.link_generation, None), known_or(during.link_width, None)
    alarm = pcie.low_bandwidth(generation, width) if generation and width else None
    return min(_LOW, alarm / found.limit.value) if alarm else _LOW
