"""NCCL is given a graph of more GPUs than there are."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, NcclSetting
from gpudoctor.fixes.nccl import withdraw
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import gpus_of, machine

_NAME = "NCCL_GRAPH_FILE"


def _graph(facts: Facts) -> NcclSetting | None:
    return next((one for one in facts.host.nccl_settings if one.name == _NAME), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    one = _graph(facts)
    why = "NCCL then finds channels between the GPUs that it is given."
    if any(setting.name == "NCCL_TOPO_FILE" for setting in facts.host.nccl_settings):
        why += " NCCL_TOPO_FILE, which describes the virtual machine's buses, may stay."
    return withdraw(facts, one, why=why) if one else ()


@check(
    title="NCCL_GRAPH_FILE names more GPUs than there are: XML Import Channel : dev not found",
    severity=Severity.ERROR,
    cause="With NCCL_GRAPH_FILE, NCCL takes its channels from that file instead of searching for them, and fails "
    "where a GPU that it names is not among those of the job. Images for virtual machines set it, and are used on "
    "smaller sizes with fewer GPUs.",
    fixes=_fixes,
    references=(
        "https://github.com/Azure/azhpc-images/issues/327",
        "https://github.com/NVIDIA/nccl/issues/1008",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
    ),
    targets=machine,
    only_with=("gpus", "host.nccl_settings"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def nccl_graph_file(facts: Facts) -> Problem | None:
    """A graph between more GPUs than programs see; a warning where they see one, which seldom needs NCCL."""
    one = _graph(facts)
    if one is None or not gpus_of(facts, "nvidia"):
        return None
    gpus = known(one.gpus)
    visible = len(visible_gpus(facts))
    if gpus is None or not visible or gpus <= visible:
        return None
    where = f"{one.file} sets {_NAME}" if one.file else f"{_NAME} is set"
    message = (
        f"{where} to {one.value}, with channels between {gpus} GPUs, but programs see {visible}: NCCL fails when it "
        "starts."
    )
    evidence = (f"{_NAME}={one.value}",)
    return Problem(message, evidence, severity=Severity.WARNING if visible == 1 else None)
