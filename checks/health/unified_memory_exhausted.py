"""The driver found no memory on a machine whose GPU has none of its own."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import COHERENT
from gpudoctor.queries.kernel_log import events, of_this_week, texts
from gpudoctor.targets import nvidia_hardware
from gpudoctor.tasks import as_root, query

_FIXES = (
    Fix(
        "Leave the system a reserve: give programs a share of the memory (vLLM: --gpu-memory-utilization 0.7, JAX: "
        "XLA_PYTHON_CLIENT_MEM_FRACTION=0.7, PyTorch: torch.cuda.set_per_process_memory_fraction), and run one large "
        "one at a time.",
        action="change-environment",
        needs="restart of the program",
        verify=query("free", "-h"),
    ),
    Fix(
        "Before a large model is loaded, empty the page cache: it counts as used where a program asks CUDA what is "
        "free.",
        (as_root("sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches"),),
        root=True,
        verify=query("free", "-h"),
    ),
)


@check(
    title="GPU and processor have used up their common memory",
    severity=Severity.ADVICE,
    cause="Here the GPU's memory is the machine's. A program that takes most of it as if it were a card's own leaves "
    "the driver and the system without any, which can stop the whole machine before the kernel ends a program.",
    fixes=_FIXES,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1358",
        "https://github.com/vllm-project/vllm/issues/35313",
        "https://build.nvidia.com/spark/nemotron/troubleshooting",
    ),
    targets=nvidia_hardware,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def unified_memory_exhausted(facts: Facts) -> Problem | None:
    """The driver's own words in the log, on machines of unified memory alone: on a card they mean the card's."""
    if known_or(facts.host.platform, "") not in COHERENT:
        return None
    said = of_this_week(facts, events(facts, "driver-no-memory"))
    if not said:
        return None
    return Problem("The driver found no memory left, which GPU and processor share here.", texts(said[-3:]))
