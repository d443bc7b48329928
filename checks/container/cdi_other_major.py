"""A CDI specification that names device numbers which the host no longer has: CUDA fails in containers alone."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.container_host import CdiNode
from gpudoctor.fixes import cdi
from gpudoctor.maybe import Maybe, UnknownFactError, known
from gpudoctor.queries.containers import engine_host, in_effect
from gpudoctor.targets import has_nvidia
from gpudoctor.tasks import Shell

_UVM = ("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if facts.containers.cdi_nodes != () and has_nvidia(facts):
        yield from engine_host(facts)


def _pairs(facts: Facts) -> list[tuple[CdiNode, int, Maybe[int]]]:
    """The nodes that the specification numbers and the host has, each with both majors."""
    uvm = facts.nvidia.kernel.uvm_major
    majors: dict[str, Maybe[int]] = {node.path: node.major for node in known(facts.nvidia.kernel.nodes)}
    if isinstance(uvm, int):  # its nodes may be older, or not be made yet
        majors |= dict.fromkeys(_UVM, uvm)
    elif uvm is not None:
        majors = {**dict.fromkeys(_UVM, uvm), **majors}
    nodes = in_effect(known(facts.containers.cdi_nodes))
    return [(node, node.major, majors[node.path]) for node in nodes if node.major and node.path in majors]


def _other(facts: Facts) -> list[tuple[CdiNode, int, int]]:
    """The nodes whose major is not the host's, each with both."""
    return [
        (node, named, here) for node, named, here in _pairs(facts) if isinstance(here, int) and here and named != here
    ]


def _reads(facts: Facts) -> bool:
    """Whether an engine here is known to read the specifications and to make the nodes itself.

    A rootless one mounts the host's nodes instead; Podman alone is mostly that.
    """
    found = facts.containers
    rootful = found.docker_rootless is False and found.docker_cdi is True
    return rootful or found.runtime_mode == "cdi" or facts.cluster.kubelet is True


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    files = dict.fromkeys(node.file for node, _, _ in _other(facts))
    again = (
        "Generate it at each boot: the toolkit's service nvidia-cdi-refresh does so from 1.18 on, where there is "
        "systemd."
    )
    return tuple(cdi.regenerate(facts, path, again, _majors(path)) for path in files)


def _majors(path: str) -> Shell:
    """The majors in the specification next to the kernel's; nvidia-ctk lists devices, whatever their numbers are."""
    return Shell(f"grep -A3 -E '/dev/nvidia-(uvm|caps)' {path}; grep nvidia /proc/devices", lookup=True)


@check(
    title="CDI specification names a device number that the host does not have: CUDA fails in containers",
    severity=Severity.WARNING,
    cause="The kernel assigns the majors of nvidia-uvm and nvidia-caps when the modules are loaded, and another driver "
    "may have taken the former one. An engine makes the nodes with the major that the specification names, and asks "
    "the host only where it names none. Then nvidia-smi works in the container, and cuInit returns 999.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1934",
        "https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md",
    ),
    targets=_hosts,
    only_with=("queries.containers:engine_host", "containers.cdi_nodes"),
    caused_by=("driver.*", "device.*", "container.cdi-stale"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_other_major(facts: Facts) -> Problem | None:
    """The major of a node in the specification is another than that of the host's node or of the loaded module."""
    other = _other(facts)
    if not other:
        pairs = _pairs(facts)
        for _, _, here in pairs:
            known(here)
        if not pairs and any(node.major for node in in_effect(known(facts.containers.cdi_nodes))):
            raise UnknownFactError("the host has none of the nodes that the specification numbers")
        return None
    node, major, here = other[0]
    message = f"{node.file} gives {node.path} the major {major} in containers; on this host it is {here}."
    evidence = tuple(f"{one.file}: {one.path}: {named} (host: {own})" for one, named, own in other)
    return Problem(message, evidence, severity=None if _reads(facts) else Severity.ADVICE)
