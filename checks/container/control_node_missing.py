"""A container with the GPUs' nodes and without the node that controls the driver."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.containers import gpu_nodes, nvidia_container
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import REST

_BY_HAND = container.again(
    "Where the devices are passed one by one, add these.", cmd("docker", "run", *container.EACH_NODE, REST)
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    usual = container.pass_gpus(facts)
    return (_BY_HAND, *usual) if container.engine(facts) in ("docker", "podman", "containerd") else usual


@check(
    title="/dev/nvidiactl is missing in the container",
    severity=Severity.ERROR,
    cause="Every program opens /dev/nvidiactl before it opens a GPU's own node; nvidia-smi and CUDA fail without it. "
    "It is often forgotten where devices are passed in by hand, one by one.",
    fixes=_fixes,
    references=("https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/faq.html",),
    targets=nvidia_container,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def control_node_missing(facts: Facts) -> Problem | None:
    """A node of a GPU exists, the control node does not, and NVML does not respond."""
    nodes = known(facts.nvidia.kernel.nodes)
    if not gpu_nodes(facts) or any(n.path == "/dev/nvidiactl" for n in nodes):
        return None
    code = known(facts.nvidia.nvml.code)
    if code in (0, None):
        return None
    names = ", ".join(n.path for n in nodes)
    return Problem(f"/dev/nvidiactl is missing in this container, which has {names}.", (phrase("NVML: {}", code),))
