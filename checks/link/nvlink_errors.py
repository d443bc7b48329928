"""NVLinks of one GPU had to be recovered many times."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.fabric import link_parts, wired_on_board
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import FABRIC
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus
from gpudoctor.tasks import query

# A recovery is a rare event; a few may come from a reset or a restart of the fabric manager, on all GPUs alike.
_MANY = 10


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    reseat = "" if wired_on_board(on.facts, on.gpu) else "reseat the bridge, "
    look = query("nvidia-smi", "nvlink", "-e")
    return (
        Fix(
            f"Check which link's counters grow, and whether they still grow under load; {reseat}drain and reset the "
            f"GPU. If it happens again, the {link_parts(on.facts, on.gpu)} has to be replaced.",
            (look, query("nvidia-smi", "nvlink", "--status"), query("dcgmi", "diag", "-r", "2", root=True)),
            "ask-vendor",
            root=True,
            impact="none",
            verify=look,
        ),
    )


@check(
    title="Many NVLink recoveries on a GPU",
    severity=Severity.WARNING,
    cause="A link with too many errors is retrained (recovery); traffic stops meanwhile. Many recoveries on one GPU, "
    "while identical ones have none, point to a bad connector, bridge or board.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html",
        "https://docs.nvidia.com/datacenter/dcgm/latest/learn/core-services/topology-and-links.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.nvlink-fault", "device.fallen-off-the-bus", "device.needs-reset", "link.nvlink-down", *FABRIC),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def nvlink_errors(on: OnGpu) -> Problem | None:
    """Many recoveries since the driver was loaded, and ten times the lowest count of the identical GPUs."""
    if not known(on.gpu.nvlinks):
        return None
    count = known(on.gpu.nvlink_recoveries)
    if not count or count < _MANY:
        return None
    equals = [
        g.nvlink_recoveries
        for g in gpus_of(on.facts, "nvidia")
        if g.name == on.gpu.name and g.index != on.gpu.index and isinstance(g.nvlink_recoveries, int)
    ]
    if not equals or min(equals) * 10 >= count:
        return None
    others = ((on.gpu.nvlink_replays, "replays"), (on.gpu.nvlink_crc, "CRC errors"))
    besides = tuple(f"{number:,} {what}" for number, what in others if isinstance(number, int) and number)
    message = (
        f"The NVLinks of {gpu_name(on.gpu)} were recovered {count:,} times since the driver was loaded; on an "
        f"identical GPU here {min(equals):,} times."
    )
    return Problem(message, besides)
