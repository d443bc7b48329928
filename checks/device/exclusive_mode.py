"""A GPU that accepts one process at a time is already in use."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu, GpuProcess
from gpudoctor.fixes.holders import stop_holders
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries.driver import CUDA_BUSY
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus
from gpudoctor.tasks import as_root, export, query


def _holders(on: OnGpu) -> tuple[GpuProcess, ...]:
    return on.gpu.processes if isinstance(on.gpu.processes, tuple) else ()


def _is_free(gpu: Gpu) -> bool:
    """Whether this one accepts a process, too: batch systems set the mode on all GPUs, and CUDA uses a free one."""
    return text_of(gpu.compute_mode).startswith("exclusive") and gpu.processes == ()


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    index = on.gpu.index
    shared = Fix(
        "Let several processes share the GPU again.",
        (as_root("nvidia-smi", "-i", index, "-c", "0"),),
        "change-environment",
        root=True,
        undo=(as_root("nvidia-smi", "-i", index, "-c", "3"),),
        verify=query("nvidia-smi", "-i", index, "--query-gpu=compute_mode", "--format=csv"),
    )
    others = [g.index for g in gpus_of(on.facts, "nvidia") if g.index != index and g.compute_mode == "default"]
    fixes = [shared]
    if others:
        message = f"Run on another GPU, with its number in CUDA_VISIBLE_DEVICES ({', '.join(map(str, others[:7]))})."
        fixes.append(Fix(message, (export("CUDA_VISIBLE_DEVICES", others[0]),), "change-environment"))
    if _holders(on):
        fixes.append(stop_holders(_holders(on), "Wait until the process that uses it ends, or stop it if it is yours."))
    return tuple(fixes)


@check(
    title="GPU in exclusive-process mode is in use",
    severity=Severity.ERROR,
    cause="In the compute mode Exclusive_Process a GPU accepts one process; all others get CUDA error 46, devices "
    "busy or unavailable. Administrators set it for batch systems or MPS.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/mps/", "https://github.com/NVIDIA/DIGITS/issues/2005"),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def exclusive_mode(on: OnGpu) -> Problem | None:
    """The mode, and a process that uses the GPU; MPS occupies it on purpose and lets others in."""
    if known(on.gpu.compute_mode) not in ("exclusive-process", "exclusive-thread"):
        return None
    busy, holders = on.facts.nvidia.cuda.code == CUDA_BUSY, _holders(on)
    if any("mps" in (known_or(p.name, None) or "") for p in holders) or not (holders or busy):
        return None
    who = ", ".join(f"{known_or(p.name, None) or 'a process of another container'} (pid {p.pid})" for p in holders[:3])
    user = f" and {who} uses it" if who else ""
    free = any(g.compute_mode == "default" or _is_free(g) for g in gpus_of(on.facts, "nvidia"))
    message = f"{gpu_name(on.gpu)} is in exclusive-process mode{user}: other processes get error 46 there."
    return Problem(message, severity=None if busy or not free else Severity.WARNING)
