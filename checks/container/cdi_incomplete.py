"""A CDI specification without the node of unified memory: nvidia-smi works in containers, CUDA does not."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import cdi, nixos
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.containers import engine_host, gpu_files, in_effect, takes_cdi
from gpudoctor.tasks import Edit, Tasks, as_root, query

_UVM = "/dev/nvidia-uvm"
_DROP_IN = "/etc/systemd/system/nvidia-cdi-refresh.service.d/uvm.conf"


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if facts.containers.cdi_nodes != () and facts.host.platform != "jetson":
        yield from engine_host(facts)


def _files(facts: Facts) -> list[str]:
    """The specifications that pass GPUs in, and not that node."""
    nodes = in_effect(known(facts.containers.cdi_nodes))
    return sorted(gpu_files(nodes) - {n.file for n in nodes if n.path == _UVM})


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    proof = query("grep", "-A3", _UVM, *_files(facts))
    make: Tasks = (as_root("modprobe", "nvidia_uvm"),)
    if not nixos.is_nixos(facts):  # which has no nvidia-modprobe: its rules for udev make the node
        make = (*make, as_root("nvidia-modprobe", "-c", "0", "-u"))
    again = cdi.regenerate(facts, _files(facts)[0], "", proof)
    message = f"Load nvidia_uvm and make its node, then generate the specification again. {again.message}"
    first = Fix(message, (*make, *again.tasks), "change-environment", root=True, needs="new containers", verify=proof)
    if nixos.is_nixos(facts):
        setting = 'boot.kernelModules = [ "nvidia_uvm" ];'
        lasting = nixos.rebuild("Load nvidia_uvm at each boot.", setting, "change-environment", proof)
        return (first, lasting)
    if facts.containers.cdi_service is True:
        text = "[Service]\nExecStartPre=-/usr/bin/nvidia-modprobe -c 0 -u\n"
        tasks: Tasks = (Edit(_DROP_IN, text=text, root=True), as_root("systemctl", "daemon-reload"))
        undo: Tasks = (Edit(_DROP_IN, gone=True, root=True), as_root("systemctl", "daemon-reload"))
        message = "Have the service that writes it at each boot make the node first."
    else:
        path = "/etc/modules-load.d/nvidia-uvm.conf"
        tasks, undo = (Edit(path, text="nvidia_uvm\n", root=True),), (Edit(path, gone=True, root=True),)
        message = "Load nvidia_uvm at each boot, before anything generates the specification."
    return (first, Fix(message, tasks, "change-environment", root=True, undo=undo, later=True))


@check(
    title="CDI specification without /dev/nvidia-uvm: nvidia-smi works in containers, CUDA does not",
    severity=Severity.WARNING,
    cause="nvidia-ctk lists the device nodes that are there when it generates the specification. /dev/nvidia-uvm is "
    "made when CUDA is first used, mostly after the boot at which the service nvidia-cdi-refresh ran. Containers then "
    "get the GPU without it: cuInit returns 999 (CUDA_ERROR_UNKNOWN).",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/50",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1967",
        "https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/deployments/systemd/nvidia-cdi-refresh.service",
    ),
    targets=_hosts,
    only_with=("queries.containers:engine_host", "containers.cdi_nodes"),
    caused_by=("driver.*", "device.*", "container.cdi-stale", "container.cdi-not-parsed"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_incomplete(facts: Facts) -> Problem | None:
    """NVIDIA's specification has nodes of GPUs and not /dev/nvidia-uvm, and an engine reads it."""
    usual = takes_cdi(facts) if may_serve(facts) else None
    files = _files(facts) if usual is not None else []
    if not files:
        return None
    message = f"{files[0]} passes the GPU into containers without {_UVM}: nvidia-smi works there, and CUDA does not."
    there = {node.path for node in known_or(facts.nvidia.kernel.nodes, ())}
    now = f"{_UVM} is here now: it was made after the specification" if _UVM in there else f"{_UVM} is not here either"
    return Problem(message, (*files, now), severity=None if usual else Severity.ADVICE)
