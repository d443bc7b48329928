"""NVLink errors grew while tests ran on the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import on_gpu
from gpudoctor.knowledge.pcie import link_limits
from gpudoctor.queries.cause_groups import FABRIC
from gpudoctor.queries.smoke import OnDevice, called, growth, smoke_gpus
from gpudoctor.tasks import filtered, query

_COUNTERS = (("nvlink_replays", "replays"), ("nvlink_recoveries", "recoveries"))


def _fixes(on: OnDevice) -> tuple[Fix, ...]:
    message = (
        "Find the link whose counters grow, and read the kernel log; then drain and reset the GPU. If they grow again, "
        "have the bridge, the board or the GPU replaced."
    )
    return (
        Fix(
            message,
            (
                query("nvidia-smi", "nvlink", "-e", "-i", on.gpu.index),
                query("nvidia-smi", "nvlink", "--status", "-i", on.gpu.index),
                filtered(query("dmesg", root=True), query("grep", "-iE", "xid|nvlink")),
            ),
            "ask-vendor",
            root=True,
            impact="none",
            verify=on_gpu(on.gpu, "peer"),
        ),
    )


@check(
    title="NVLink errors grow under load",
    severity=Severity.WARNING,
    cause="Packets arrived damaged: the link retransmits them (replay), and retrains itself when that does not help "
    "(recovery); traffic stops meanwhile. A healthy link does neither while it works, so a bridge, connector, board or "
    "GPU is marginal.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/dcgm/latest/reference/command-line-reference/dcgmi/dcgmi-health.html",
    ),
    targets=smoke_gpus,
    caused_by=("device.nvlink-fault", "device.fallen-off-the-bus", "device.needs-reset", *FABRIC),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def nvlink_errors(on: OnDevice) -> Problem | None:
    """Replays or recoveries between two readings, or CRC errors at a rate NVIDIA's health watch rejects."""
    limits = link_limits()
    found = [(what, *growth(on.tests, counter)) for counter, what in _COUNTERS]
    grown = [(f"{what} +{number:,}", tests) for what, number, tests in found if number >= limits.nvlink_errors]
    number, tests = growth(on.tests, "nvlink_crc")
    seconds = sum(test.seconds or 0.0 for test in tests)
    if seconds and number / seconds >= limits.nvlink_crc_a_second:
        grown.append((f"CRC errors +{number:,}", tests))
    if not grown:
        return None
    where = ", ".join(dict.fromkeys(called(test) for _, tests in grown for test in tests))
    counts = ", ".join(text for text, _ in grown)
    return Problem(f"NVLink error counters of {on.name} grew during the tests ({where}): {counts}.")
