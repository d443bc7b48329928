"""A container with nodes of GPUs and without the node by which the driver is spoken to."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.containers import gpu_nodes, nvidia_container
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import REST

_BY_HAND = container.again(
    "Where the devices are named one by one, name these as well.",
    cmd(
        "docker",
        "run",
        "--device",
        "/dev/nvidia0",
        "--device",
        "/dev/nvidiactl",
        "--device",
        "/dev/nvidia-uvm",
        "--device",
        "/dev/nvidia-uvm-tools",
        REST,
    ),
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    usual = container.pass_gpus(facts)
    return (_BY_HAND, *usual) if container.engine(facts) in ("docker", "podman", "containerd") else usual


@check(
    title="The container lacks /dev/nvidiactl",
    severity=Severity.ERROR,
    cause="Every program opens /dev/nvidiactl before it opens a GPU's own node; nvidia-smi and CUDA fail without it. "
    "It is left out where devices are handed in by hand, one by one.",
    fixes=_fixes,
    references=("https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/faq.html",),
    targets=nvidia_container,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def control_node_missing(facts: Facts) -> Problem | None:
    """A node of a GPU is there, the control node is not, and NVML does not answer."""
    nodes = known(facts.nvidia.kernel.nodes)
    if not gpu_nodes(facts) or any(n.path == "/dev/nvidiactl" for n in nodes):
        return None
    code = known(facts.nvidia.nvml.code)
    if code in (0, None):
        return None
    names = ", ".join(n.path for n in nodes)
    return Problem(f"/dev/nvidiactl is missing in this container, which has {names}.", (phrase("NVML: {}", code),))
