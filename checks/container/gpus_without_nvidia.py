"""A container that requests NVIDIA GPUs, on a host that has none."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import again
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import cards_of, has_dxg, has_nvidia, in_container
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import REST

_DEVICES = {"amd": ("/dev/kfd", "/dev/dri"), "intel": ("/dev/dri",)}


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The host with Docker and without a GPU of NVIDIA's."""
    docker = isinstance(facts.containers.docker, str) and not in_container(facts) and not has_dxg(facts)
    if docker and isinstance(facts.pci, tuple) and not has_nvidia(facts):
        yield MACHINE, facts


def _vendor(facts: Facts) -> str | None:
    return next((vendor for vendor in _DEVICES if cards_of(facts, vendor)), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    without = (
        "Create the container again without --gpus, --runtime=nvidia and, in a compose file, without the reservation "
        "of devices with driver nvidia (Unraid: Extra Parameters of the container's template)"
    )
    vendor = _vendor(facts)
    if vendor is None:
        return (again(f"{without}.", cmd("docker", "run", REST), verify=cmd("docker", "ps")),)
    devices = tuple(word for path in _DEVICES[vendor] for word in ("--device", path))
    message = f"{without}, and pass this machine's GPU by its device nodes, if the image supports it."
    return (again(message, cmd("docker", "run", *devices, REST), verify=cmd("docker", "ps")),)


@check(
    title="A container requests NVIDIA GPUs (--gpus) on a machine without one",
    severity=Severity.WARNING,
    cause="docker run --gpus and the compose driver nvidia are NVIDIA's: Docker looks for its runtime or a CDI "
    "specification, finds none, and does not start the container (could not select device driver; failed to discover "
    "GPU vendor from CDI). No package changes that on a machine without an NVIDIA GPU.",
    fixes=_fixes,
    references=(
        "https://docs.docker.com/engine/containers/gpu/",
        "https://github.com/ShaneIsrael/fireshare/issues/689",
    ),
    targets=_hosts,
    only_with=(
        "queries.containers:engine_host",
        "containers.docker",
    ),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def gpus_without_nvidia(facts: Facts) -> Problem | None:
    """Docker's own error in the state of a container that never ran."""
    found = [one.name for one in known(facts.containers.refused) if one.condition == "gpus"]
    if not found:
        return None
    card = next(iter(cards_of(facts, _vendor(facts) or "")), None)
    name = known_or(card.name, None) if card else None
    has = f"its GPU is {name}" if name else "it has no GPU"
    return Problem(f"Docker could not start {', '.join(found[:3])}: this machine has no NVIDIA GPU ({has}).")
