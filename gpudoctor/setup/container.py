"""The step that gives containers the GPU: NVIDIA's Container Toolkit on the host."""

from gpudoctor.facts import Facts
from gpudoctor.fixes import container, toolkit_install
from gpudoctor.setup.plan import Refusal, SetupStep, TargetPlatform
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, query

AMD = "docker run --rm --device /dev/kfd --device /dev/dri rocm/rocm-terminal rocminfo"


def decide(facts: Facts, ground: TargetPlatform) -> tuple[SetupStep | None, Refusal | None, str | None]:
    """The step, or why there is none, or a note that nothing is to be done."""
    if ground.vendor not in ("nvidia", "amd"):
        why = "This machine has no GPU that containers could use."
        return None, Refusal("container toolkit", why, "Containers run without it."), None
    if ground.vendor == "amd":
        return None, None, f"Containers need no toolkit for AMD GPUs, only the device nodes: {AMD}"
    if in_container(facts):
        why = "This is a container: the toolkit belongs to its host."
        return None, Refusal("container toolkit", why, "Run this on the host."), None
    if isinstance(facts.containers.toolkit, str) and _knows(facts):
        return None, None, "The NVIDIA Container Toolkit is installed and configured."
    return _step(facts, ground), None, None


def _knows(facts: Facts) -> bool:
    """Whether Docker has NVIDIA's runtime, or a CDI specification is there."""
    runtimes = facts.containers.docker_runtimes or facts.containers.docker_config_runtimes
    cdi = facts.containers.cdi
    return (isinstance(runtimes, tuple) and "nvidia" in runtimes) or (isinstance(cdi, tuple) and bool(cdi))


def _step(facts: Facts, ground: TargetPlatform) -> SetupStep:
    if facts.containers.docker is None and isinstance(facts.containers.podman, str):
        return _for_podman(facts, ground)
    if isinstance(facts.containers.toolkit, str) and isinstance(facts.containers.docker, str):
        return _registered(facts)
    fix = toolkit_install.install_toolkit(facts)
    return SetupStep(
        id="container-toolkit",
        group="container",
        title=fix.message,
        why="A container has no driver of its own: the toolkit mounts the host's driver libraries and device nodes.",
        commands=fix.tasks,
        root=True,
        verify=(container.PROOF,),
    )


def _registered(facts: Facts) -> SetupStep:
    """The toolkit is there, and Docker does not know of it."""
    return SetupStep(
        id="container-toolkit",
        group="container",
        title="Configure Docker to use the NVIDIA Container Toolkit runtime, and restart Docker.",
        why="The toolkit is installed, but Docker is not configured to use it.",
        commands=(container.CONFIGURE, *toolkit_install.restart_docker(facts)),
        root=True,
        verify=(container.PROOF,),
    )


def _for_podman(facts: Facts, ground: TargetPlatform) -> SetupStep:
    """Podman takes GPUs by CDI; newer toolkits write the specification at each start, by nvidia-cdi-refresh."""
    make = (as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),) if ground.driver else ()
    return SetupStep(
        id="container-toolkit",
        group="container",
        title="Install the NVIDIA Container Toolkit; Podman uses its CDI specification to give GPUs to containers.",
        why="A container has no driver of its own: the toolkit mounts the host's driver libraries and device nodes.",
        commands=(*toolkit_install.toolkit_commands(facts), *make),
        root=True,
        verify=(query("podman", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),),
    )
