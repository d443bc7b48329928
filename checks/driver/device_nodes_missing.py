"""The module is loaded and /dev/nvidiactl or /dev/nvidiaN is missing."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.cause_groups import DEAD, SURROUNDINGS
from gpudoctor.queries.driver import cuda_fails, own_kernel
from gpudoctor.targets import cards_of
from gpudoctor.tasks import Shell, as_root


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    """nvidia-modprobe takes the minor numbers of the nodes; the files are numbered alike."""
    numbers = range(max(1, len(known_or(facts.nvidia.kernel.gpus, ()))))
    minors = [word for number in numbers for word in ("-c", str(number))]
    return (
        Fix(
            "Create the device nodes: nvidia-modprobe does that as root, and nvidia-persistenced creates them at every "
            "boot.",
            (
                as_root("nvidia-modprobe", *minors),
                as_root("nvidia-modprobe", "-u", "-c", "0"),
                as_root("systemctl", "enable", "--now", "nvidia-persistenced"),
            ),
            "reload-module",
            root=True,
            verify=Shell("ls -l /dev/nvidia*", lookup=True),
        ),
    )


@check(
    title="NVIDIA's device nodes are missing under /dev",
    severity=Severity.ERROR,
    cause="Programs reach the module through /dev/nvidiactl and /dev/nvidia0 ...; the setuid tool nvidia-modprobe or "
    "udev creates them. Without it (minimal server installations) they are never created.",
    fixes=_fixes,
    references=("https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/faq.html",),
    targets=own_kernel,
    caused_by=(*DEAD, *SURROUNDINGS),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def device_nodes_missing(facts: Facts) -> Problem | None:
    """Fewer nodes than the module's GPUs, where NVML or CUDA fails or NVML lists fewer."""
    kernel, nvidia = facts.nvidia.kernel, facts.nvidia
    if known(kernel.loaded) is None:
        return None
    if nvidia.nvml.code == 0 and not cuda_fails(facts):
        return _of_some(facts)
    paths = {node.path for node in known(kernel.nodes)}
    numbered = [p for p in paths if p.removeprefix("/dev/nvidia").isdigit()]
    count = nvidia.nvml.count if nvidia.nvml.code == 0 else None
    # A job or container with some of the GPUs has only their nodes, and NVML lists only those.
    wanted = count if isinstance(count, int) and count else len(known_or(kernel.gpus, ()))
    if "/dev/nvidiactl" in paths and len(numbered) >= wanted:
        return None
    if "/dev/nvidiactl" not in paths:
        return Problem(
            f"The module{phrase(' {}', kernel.loaded)} is loaded, but /dev/nvidiactl is missing.", tuple(sorted(paths))
        )
    message = f"The module has {wanted} GPUs, but only {len(numbered)} of their nodes /dev/nvidiaN exist."
    return Problem(message, tuple(sorted(paths)))


def _of_some(facts: Facts) -> Problem | None:
    """The GPUs without a node, which NVML leaves out. A batch job may have got the nodes of its own GPUs alone."""
    bound = [card for card in cards_of(facts, "nvidia") if card.driver == "nvidia"]
    there, count = min(len(bound), len(known_or(facts.nvidia.kernel.gpus, ()))), facts.nvidia.nvml.count
    if not isinstance(count, int) or not 0 < count < there or known(facts.cluster.job) is not None:
        return None
    paths = {node.path for node in known(facts.nvidia.kernel.nodes)}
    missing = [path for path in (f"/dev/nvidia{number}" for number in range(there)) if path not in paths]
    if len(missing) != there - count:
        return None
    names = " and ".join(missing)
    exist = "do not exist" if missing[1:] else "does not exist"
    message = f"The module has {there} GPUs, and NVML lists {count} of them: {names} {exist}."
    return Problem(message, (", ".join(sorted(paths)),), severity=Severity.WARNING)  # the others work
