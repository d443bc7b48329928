"""Docker Desktop on Linux, whose containers live in a virtual machine without the GPU."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import has_nvidia, in_container, on_wsl
from gpudoctor.tasks import cmd, filtered, query


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if has_nvidia(facts) and not in_container(facts) and not on_wsl(facts) and isinstance(facts.containers.docker, str):
        yield MACHINE, facts


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    back = Fix(
        "Use Docker Engine for containers with a GPU: install it beside Docker Desktop, and choose its context (undo: "
        "desktop-linux). Images of one are not seen by the other.",
        (cmd("docker", "context", "use", "default"),),
        "change-environment",
        undo=(cmd("docker", "context", "use", "desktop-linux"),),
        verify=filtered(query("docker", "info"), query("grep", "-i", "operating system")),
    )
    return (back, container.install_toolkit(facts))


@check(
    title="Docker Desktop on Linux gives no GPU to containers",
    severity=Severity.WARNING,
    cause="Docker Desktop runs its containers in a virtual machine of its own, and NVIDIA's GPU is not passed to it; "
    "its support of GPUs is for Windows with WSL 2 alone.",
    fixes=_fixes,
    references=(
        "https://docs.docker.com/desktop/features/gpu/",
        "https://github.com/docker/roadmap/issues/497",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/175",
    ),
    targets=_hosts,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def docker_desktop_linux(facts: Facts) -> Problem | None:
    """The context in use is Docker Desktop's, and its virtual machine has no runtime of NVIDIA's."""
    if known(facts.containers.docker_desktop) is not True:
        return None
    if "nvidia" in (known_or(facts.containers.docker_runtimes, None) or ()):
        return None
    message = "The docker command speaks to Docker Desktop, whose virtual machine does not have this computer's GPU."
    # The toolkit is a sign that somebody wants GPUs in containers; many have Docker Desktop for other work.
    wanted = known_or(facts.containers.toolkit, None) is not None
    return Problem(message, severity=None if wanted else Severity.ADVICE)
