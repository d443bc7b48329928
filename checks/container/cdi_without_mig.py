"""A CDI specification from before the MIG instances were made."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import cdi
from gpudoctor.maybe import known
from gpudoctor.queries.containers import engine_host, gpu_files, in_effect, takes_cdi
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import query


def _instances(facts: Facts) -> int:
    """How many MIG instances NVML lists."""
    lists = (gpu.mig_devices for gpu in gpus_of(facts, "nvidia") if gpu.mig is True)
    return sum(len(one) for one in lists if isinstance(one, tuple))


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if facts.containers.cdi_nodes != () and _instances(facts):
        yield from engine_host(facts)


def _files(facts: Facts) -> list[str]:
    """The specifications that pass GPUs in, and no node of an instance."""
    nodes = in_effect(known(facts.containers.cdi_nodes))
    return sorted(gpu_files(nodes) - {n.file for n in nodes if n.path.startswith("/dev/nvidia-caps/")})


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    again = "The service nvidia-cdi-refresh does so after a change of the driver, not of the instances."
    return tuple(cdi.regenerate(facts, path, again, query("nvidia-ctk", "cdi", "list")) for path in _files(facts))


@check(
    title="CDI specification is older than the MIG instances: containers get none of them",
    severity=Severity.WARNING,
    cause="A CDI specification lists each MIG instance with its device nodes (/dev/nvidia-caps). One that was "
    "generated before the instances has the whole GPU alone, on which CUDA does not run while MIG is enabled; asking "
    "for an instance fails with 'unresolvable CDI devices'. Docker from 29 on takes the specification for --gpus too.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1828",
        "https://github.com/moby/moby/issues/51942",
        "https://github.com/moby/moby/pull/52704",
    ),
    targets=_hosts,
    only_with=("queries.containers:engine_host", "containers.cdi_nodes"),
    caused_by=("driver.*", "device.*", "container.cdi-stale"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def cdi_without_mig(facts: Facts) -> Problem | None:
    """NVML lists instances, NVIDIA's specification has nodes of GPUs and none of theirs, and an engine reads it."""
    files, usual = _files(facts), takes_cdi(facts)
    if not files or usual is None:
        return None
    count = _instances(facts)
    what = f"{count} MIG instances" if count > 1 else "a MIG instance"
    message = f"This machine has {what}, but {files[0]} was generated without: containers get the whole GPU or nothing."
    return Problem(message, tuple(files), severity=None if usual else Severity.ADVICE)
