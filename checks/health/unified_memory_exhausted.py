"""The driver ran out of memory on a machine whose GPU has none of its own."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import COHERENT
from gpudoctor.queries.kernel_log import events, of_this_week, texts
from gpudoctor.queries.known_bugs import kernel_bug
from gpudoctor.targets import nvidia_hardware
from gpudoctor.tasks import as_root, query

_FIXES = (
    Fix(
        "Leave memory for the system: limit programs to a share of it (vLLM: --gpu-memory-utilization 0.7, JAX: "
        "XLA_PYTHON_CLIENT_MEM_FRACTION=0.7, PyTorch: torch.cuda.set_per_process_memory_fraction), and run one "
        "large one at a time.",
        action="change-environment",
        needs="restart of the program",
        verify=query("free", "-h"),
    ),
    Fix(
        "Before you load a large model, drop the page cache: it counts as used when a program asks CUDA for free "
        "memory.",
        (as_root("sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches"),),
        root=True,
        verify=query("free", "-h"),
    ),
)


def _kept_for_kexec(facts: Facts) -> Fix | None:
    """The way around a known bug of the kernel, where the log shows it and nobody has taken that way."""
    lines = tuple(event.text for event in events(facts, "driver-no-memory"))
    bug = kernel_bug(facts, lines, "GB10") if facts.host.platform == "dgx-spark" else None
    if bug is None or "kho=" in known_or(facts.host.kernel.command_line, ""):
        return None
    message = (
        f"Kernel {bug.first} of Ubuntu may have a known bug: {bug.what} ({bug.source}). It does where CmaFree in "
        f"/proc/meminfo is far above CmaTotal; kernel {bug.good} does not have it."
    )
    return kernel_parameter(facts, message, "kho=off", verify=query("grep", "Cma", "/proc/meminfo"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    kept = _kept_for_kexec(facts)
    return (kept, *_FIXES) if kept else _FIXES


@check(
    title="Out of memory: GPU and CPU share it (unified memory)",
    severity=Severity.ADVICE,
    cause="On this machine the GPU uses system memory. A program that takes most of it as if it were a card's own "
    "leaves none for the driver and the system, which can freeze the whole machine before the OOM killer acts.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1358",
        "https://github.com/NVIDIA/NV-Kernels/pull/590",
        "https://github.com/vllm-project/vllm/issues/35313",
        "https://build.nvidia.com/spark/nemotron/troubleshooting",
    ),
    targets=nvidia_hardware,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def unified_memory_exhausted(facts: Facts) -> Problem | None:
    """The driver's own message in the log, only on machines with unified memory: on a card it means the card's."""
    if known_or(facts.host.platform, "") not in COHERENT:
        return None
    logged = of_this_week(facts, events(facts, "driver-no-memory"))
    if not logged:
        return None
    return Problem("The driver ran out of memory, which GPU and CPU share here.", texts(logged[-3:]))
