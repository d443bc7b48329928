"""How NVIDIA's GPUs are reset: whatever has them open has to let go first."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.queries.cards import RESTARTS, USERS, OnAddress, required_action
from gpudoctor.targets import OnGpu, gpus_of
from gpudoctor.tasks import Task, Tasks, as_root, query

# It holds every GPU while it is loaded, and fuser lists no process for it (NVIDIA/mig-parted#181).
_DISPLAY = "nvidia_drm"


def reset(facts: Facts, *numbers: object) -> Tasks:
    """The commands that reset GPUs, all of them where none is named.

    Args:
        facts: the machine.
        numbers: what nvidia-smi -i takes.
    """
    return (*let_go(facts, *numbers), *reset_alone(facts, *numbers))


def let_go(facts: Facts, *numbers: object) -> Tasks:
    """What has to let go of GPUs first: programs, persistence mode, and the module of the display.

    Persistence mode, and the daemon of it, keep a GPU open as well (NVIDIA/NVSentinel#1690).
    """
    modes = (as_root("nvidia-smi", "-pm", 0, *_which(numbers)),) if _persistent(facts, numbers) else ()
    return (USERS, *modes, *((as_root("rmmod", _DISPLAY),) if _has_display(facts) else ()))


def reset_alone(facts: Facts, *numbers: object) -> Tasks:
    """The reset itself; what was switched off before is switched on again."""
    modes = (as_root("nvidia-smi", "-pm", 1, *_which(numbers)),) if _persistent(facts, numbers) else ()
    display = (as_root("modprobe", _DISPLAY),) if _has_display(facts) else ()
    return (as_root("nvidia-smi", "--gpu-reset", *_which(numbers)), *display, *modes)


def _which(numbers: tuple[object, ...]) -> tuple[str, ...]:
    return ("-i", ",".join(map(str, numbers))) if numbers else ()


def _persistent(facts: Facts, numbers: tuple[object, ...]) -> bool:
    meant = [g for g in gpus_of(facts, "nvidia") if not numbers or str(g.index) in map(str, numbers)]
    return any(gpu.persistence is True for gpu in meant)


def _has_display(facts: Facts) -> bool:
    return _DISPLAY in (known_or(facts.nvidia.kernel.modules, None) or ())


def reset_commands(on: OnAddress) -> Tasks:
    """The commands that reset one GPU."""
    return reset(on.facts, on.number)


def as_required(on: OnAddress, message: str, verify: Task) -> Fix:
    """Reset one GPU, or reboot where the driver itself requires more than that.

    Args:
        on: the GPU.
        message: what the reset is, a sentence.
        verify: the command that verifies the fix.
    """
    if required_action(on) in RESTARTS:
        message = "Stop the running programs, and reboot: the driver requires more than a GPU reset."
        return Fix(message, (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=verify)
    return Fix(message, reset_commands(on), "reset-gpu", root=True, verify=verify)


def to_take_effect(on: OnGpu, mode: str) -> Fix:
    """The reset that a changed mode waits for; `mode` is nvidia-smi's word for it, such as "ecc" or "mig"."""
    index = on.gpu.index
    asked = f"--query-gpu={mode}.mode.current,{mode}.mode.pending"
    return Fix(
        "Stop every program that uses the GPU, then reset it, or reboot.",
        reset(on.facts, index),
        "reset-gpu",
        root=True,
        verify=query("nvidia-smi", "-i", index, asked, "--format=csv"),
    )


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
