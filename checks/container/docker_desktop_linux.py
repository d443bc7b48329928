"""Docker Desktop on Linux, whose containers run in a virtual machine without the GPU."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import toolkit_install
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.intel import intel_computers
from gpudoctor.targets import amd_compute, has_nvidia, has_rocm, in_container, on_wsl
from gpudoctor.tasks import cmd, filtered, query


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if in_container(facts) or on_wsl(facts) or not isinstance(facts.containers.docker, str):
        return
    if has_nvidia(facts) or any(amd_compute(facts)) or any(intel_computers(facts)):
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
    lacking = has_nvidia(facts) and known_or(facts.containers.toolkit, None) is None
    return (back, toolkit_install.install_toolkit(facts)) if lacking else (back,)


@check(
    title="Docker Desktop on Linux has no GPU support",
    severity=Severity.WARNING,
    cause="Docker Desktop runs its containers in its own virtual machine (kernel linuxkit), to which no GPU is passed: "
    "/dev/kfd, /dev/dri and /dev/nvidia0 are missing there, whatever docker run passes. It supports GPUs only on "
    "Windows with WSL 2.",
    fixes=_fixes,
    references=(
        "https://docs.docker.com/desktop/features/gpu/",
        "https://github.com/docker/roadmap/issues/497",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/175",
        "https://github.com/ROCm/container-toolkit/issues/86",
    ),
    targets=_hosts,
    only_with=(
        "queries.containers:engine_host",
        "containers.docker",
    ),
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def docker_desktop_linux(facts: Facts) -> Problem | None:
    """The context in use is Docker Desktop's, and its virtual machine has no runtime of NVIDIA's."""
    if known(facts.containers.docker_desktop) is not True:
        return None
    if "nvidia" in (known_or(facts.containers.docker_runtimes, None) or ()):
        return None
    message = "The docker command uses Docker Desktop, whose virtual machine does not have this machine's GPU."
    # The toolkit is a sign that GPUs in containers are wanted; many have Docker Desktop for other work. AMD's GPUs
    # need no toolkit: there ROCm on the host is the sign.
    nvidia = has_nvidia(facts)
    wanted = known_or(facts.containers.toolkit, None) is not None if nvidia else has_rocm(facts)
    return Problem(message, severity=None if wanted else Severity.ADVICE)
