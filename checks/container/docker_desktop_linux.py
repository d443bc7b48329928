"""Docker Desktop on Linux, whose containers run in a virtual machine without the GPU."""

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
        "Use Docker Engine for containers with a GPU: install it next to Docker Desktop, and select its context "
        "(undo: desktop-linux). The two do not share images.",
        (cmd("docker", "context", "use", "default"),),
        "change-environment",
        undo=(cmd("docker", "context", "use", "desktop-linux"),),
        verify=filtered(query("docker", "info"), query("grep", "-i", "operating system")),
    )
    return (back, container.install_toolkit(facts))


@check(
    title="Docker Desktop on Linux has no GPU support",
    severity=Severity.WARNING,
    cause="Docker Desktop runs its containers in its own virtual machine, and NVIDIA's GPU is not passed to it; it "
    "supports GPUs only on Windows with WSL 2.",
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
    message = "The docker command uses Docker Desktop, whose virtual machine does not have this machine's GPU."
    # The toolkit is a sign that GPUs in containers are wanted; many have Docker Desktop for other work.
    wanted = known_or(facts.containers.toolkit, None) is not None
    return Problem(message, severity=None if wanted else Severity.ADVICE)
