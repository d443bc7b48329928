"""How NVIDIA's GPUs are reset: whatever has them open has to let go first."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.queries.cards import USERS, OnAddress
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import Tasks, as_root, query

# It holds every GPU while it is loaded, and fuser lists no process for it (NVIDIA/mig-parted#181).
_DISPLAY = "nvidia_drm"


def reset(facts: Facts, *numbers: object) -> Tasks:
    """The commands that reset GPUs, all of them where none is named.

    Persistence mode, and the daemon of it, keep a GPU open as well (NVIDIA/NVSentinel#1690). What was switched off is
    switched on again.

    Args:
        facts: the machine.
        numbers: what nvidia-smi -i takes.
    """
    which = ("-i", ",".join(map(str, numbers))) if numbers else ()
    meant = [g for g in gpus_of(facts, "nvidia") if not numbers or str(g.index) in map(str, numbers)]
    before: Tasks = ()
    after: Tasks = ()
    if any(gpu.persistence is True for gpu in meant):
        before, after = (as_root("nvidia-smi", "-pm", 0, *which),), (as_root("nvidia-smi", "-pm", 1, *which),)
    if _DISPLAY in (known_or(facts.nvidia.kernel.modules, None) or ()):
        before, after = (*before, as_root("rmmod", _DISPLAY)), (as_root("modprobe", _DISPLAY), *after)
    return (USERS, *before, as_root("nvidia-smi", "--gpu-reset", *which), *after)


def reset_commands(on: OnAddress) -> Tasks:
    """The commands that reset one GPU."""
    return reset(on.facts, on.number)


def hangs(facts: Facts) -> bool:
    """Whether NVML hangs: whatever uses it hangs too, nvidia-smi's reset first of all."""
    nvml = facts.nvidia.nvml
    return nvml.hung is not None or nvml.died is not None


def reboot_instead() -> Fix:
    """What resets a GPU where nvidia-smi hangs."""
    message = (
        "Reboot: nvidia-smi hangs, so it cannot reset the GPU. If the reboot hangs too, disconnect the power and "
        "cold-boot."
    )
    return Fix(message, (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=query("nvidia-smi"))
