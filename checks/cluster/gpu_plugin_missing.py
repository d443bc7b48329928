"""gres.conf has slurmd detect the GPUs by a vendor's library, and Slurm lacks the plugin for it."""

from typing import NamedTuple

from gpudoctor.check_engine import Action, Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or, phrase, present, text_of
from gpudoctor.queries.clusters import slurm_nodes
from gpudoctor.targets import cards_of, gpus_of, in_container
from gpudoctor.tasks import Shell, Tasks, as_root, cmd, lines, query
from gpudoctor.tasks.placeholders import NODE

_PROOF = query("slurmd", "-G")


class _Way(NamedTuple):
    """One of the libraries by which slurmd detects GPUs."""

    vendor: str
    library: str
    option: str  # of Slurm's configure
    package: str  # of Debian


_WAYS = {
    "nvml": _Way("nvidia", "NVML", "--with-nvml", "slurm-wlm-nvml-plugin"),
    "rsmi": _Way("amd", "ROCm SMI", "--with-rsmi", "slurm-wlm-rsmi-plugin"),
}
_RESTART: Tasks = (
    as_root("systemctl", "restart", "slurmd"),
    Shell("scontrol update nodename=$(hostname -s) state=resume", root=True),
)
_RESUME: Tasks = (cmd("scontrol", "update", "nodename=NODE", "state=resume", placeholders=(NODE,)),)
_AFTER = "then restart slurmd, and resume the node if it was drained."
_OUTSIDE = "then start this container again, and resume the node if it was drained."


def _gpu_files(facts: Facts, vendor: str) -> str:
    """The GPUs' device nodes as gres.conf writes them: "/dev/nvidia[0-3]"; empty where they are not known."""
    if vendor == "amd":
        start = "/dev/dri/renderD"
        paths = [text_of(gpu.render_node) for gpu in gpus_of(facts, "amd")]
    else:
        start = "/dev/nvidia"
        paths = [node.path for node in known_or(facts.nvidia.kernel.nodes, ())]
    found = [number_of(path.removeprefix(start)) for path in paths if path.startswith(start)]
    numbers = sorted(number for number in found if number is not None)
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"{start}{numbers[0]}"
    in_a_row = numbers[-1] - numbers[0] == len(numbers) - 1
    inside = f"{numbers[0]}-{numbers[-1]}" if in_a_row else ",".join(map(str, numbers))
    return f"{start}[{inside}]"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    from gpudoctor.fixes.system import install  # every machine with slurmd and no slurm.conf reads this check

    node = present(facts.cluster.slurm_node)
    way = _WAYS[present(node.autodetect)]
    boxed = in_container(facts)
    then, tasks = (_OUTSIDE, _RESUME) if boxed else (_AFTER, _RESTART)

    def fix(message: str, first: Tasks, action: Action = "change-environment") -> Fix:
        return Fix(
            f"{message}, {then}",
            (*first, *tasks),
            action,
            root=True,
            needs="restart of the container" if boxed else "restart of slurmd",
            verify=_PROOF,
            place="outside" if boxed else "here",
        )

    fixes: list[Fix] = []
    of_debian = all(folder.endswith("/slurm-wlm") for folder in known_or(node.plugin_folders, ("",)))
    if of_debian and not boxed and (commands := install(facts, way.package)):
        section = " (in Debian's section contrib, which APT's sources have to name)" if way.vendor == "nvidia" else ""
        fixes.append(fix(f"Install Slurm's plugin for {way.library}{section}", commands, "reinstall-package"))
    # Neither knows of the parts that MIG makes of a GPU.
    if not any(gpu.mig is True for gpu in gpus_of(facts)):
        if way.vendor == "nvidia" and "nvidia" in known_or(node.gpu_plugins, ()):
            says = "In gres.conf have slurmd detect this node's GPUs without a library"
            fixes.append(fix(says, (lines(f"NodeName={NODE.name} AutoDetect=nvidia"),)))
        if files := _gpu_files(facts, way.vendor):
            says = "In gres.conf name this node's GPUs, with their Type where slurm.conf's Gres has one"
            fixes.append(fix(says, (lines(f"NodeName={NODE.name} AutoDetect=off Name=gpu File={files}"),)))
    if boxed:
        last = f"Use another image, whose Slurm was built with {way.library} ({way.option}), {then}"
    else:
        last = f"Rebuild Slurm with {way.library}'s headers installed (./configure {way.option}), {then}"
    whole = Fix(last, action="reinstall-package", root=True, verify=_PROOF, place="outside" if boxed else "here")
    return (*fixes, whole)


@check(
    title="Slurm lacks the plugin by which slurmd is to detect the GPUs",
    severity=Severity.ERROR,
    cause="With AutoDetect=nvml or rsmi slurmd finds GPUs by a plugin of Slurm, gpu_nvml.so or gpu_rsmi.so, which is "
    "built only where NVML's or ROCm SMI's headers are installed; some distributions package it separately. Without it "
    "slurmd logs 'We were configured to autodetect nvml functionality, but we weren't able to find that lib when Slurm "
    "was configured', goes on with 0 GPUs or ends (older releases), and the node is drained: 'gres/gpu count reported "
    "lower than configured'. The GPUs and the driver are not to blame.",
    fixes=_fixes,
    references=(
        "https://slurm.schedmd.com/gres.conf.html#OPT_AutoDetect",
        "https://github.com/SchedMD/slurm/blob/master/src/interfaces/gpu.c",
        "https://github.com/SlinkyProject/containers/issues/14",
        "https://github.com/openhpc/ohpc/issues/1910",
        "https://github.com/NVIDIA/deepops/issues/1214",
        "https://packages.debian.org/stable/slurm-wlm-nvml-plugin",
    ),
    targets=slurm_nodes,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gpu_plugin_missing(facts: Facts) -> Problem | None:
    """The library's vendor has GPUs here, no line of gres.conf names them, and no directory has the plugin."""
    node = facts.cluster.slurm_node
    if node is None or node.lists_gpus or node.gres_types is False:
        return None
    name = known(node.autodetect) or ""
    way = _WAYS.get(name)
    if way is None or not (gpus_of(facts, way.vendor) or cards_of(facts, way.vendor)):
        return None
    plugins = known(node.gpu_plugins)
    if name in plugins:
        return None
    message = (
        f"gres.conf says AutoDetect={name}, and gpu_{name}.so is missing among Slurm's plugins: Slurm was built "
        f"without {way.library}, or its plugin is not installed. slurmd reports 0 GPUs."
    )
    there = ", ".join(f"gpu_{one}.so" for one in plugins) or "no gpu_*.so"
    folders = ", ".join(known_or(node.plugin_folders, ()))
    return Problem(message, (phrase("{}: AutoDetect={}", node.gres_conf, name), phrase("{}: {}", folders, there)))
