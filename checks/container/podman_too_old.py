"""A Podman from before CDI, with a CDI specification."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.system import family_of
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.containers import engine_host
from gpudoctor.queries.packages import numbers
from gpudoctor.tasks import Tasks, query


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with a Podman, and a specification of NVIDIA's for it."""
    found = facts.containers
    if isinstance(found.podman, str) and any("nvidia" in path for path in known_or(found.cdi, ())):
        yield from engine_host(facts)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    listed: dict[str, Tasks] = {
        "debian": (query("apt-cache", "policy", "podman"),),
        "fedora": (query("dnf", "list", "--showduplicates", "podman"),),
    }
    newer = Fix(
        f"Install Podman {container_toolkit().cdi.podman} or newer; where the distribution has none (Ubuntu 22.04 has "
        "3.4.4), upgrade the distribution.",
        listed.get(family_of(facts) or "", ()),
        "reinstall-package",
        root=True,
        verify=query("podman", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),
    )
    docker = Fix(
        "Or start containers with a GPU by Docker, with NVIDIA's runtime.",
        (query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi"),),
        "restart-process",
    )
    return (newer, docker)


@check(
    title="Podman is too old for CDI: stat nvidia.com/gpu=all: no such file or directory",
    severity=Severity.WARNING,
    cause="Podman knows CDI devices from 4.1 on. An older one takes nvidia.com/gpu=all for the path of a device node: "
    "'stat nvidia.com/gpu=all: no such file or directory', although `nvidia-ctk cdi list` shows the devices.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html",
        "https://github.com/containers/podman/issues/20257",
        "https://github.com/containers/podman/issues/24474",
        "https://github.com/NVIDIA/libnvidia-container/issues/287",
    ),
    targets=_hosts,
    only_with=("queries.containers:engine_host", "containers.podman", "containers.cdi"),
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def podman_too_old(facts: Facts) -> Problem | None:
    """Its release, and no OCI hook of NVIDIA's, by which such a Podman gets the GPU; next to Docker it is advice."""
    found = facts.containers
    if not may_serve(facts):
        return None
    release = known(found.podman_version)
    if release is None or numbers(release) >= numbers(container_toolkit().cdi.podman) or known(found.hook):
        return None
    return Problem(
        f"Podman {release} does not know CDI, by which the toolkit here passes GPUs to containers.",
        severity=None if found.docker is None else Severity.ADVICE,
    )
