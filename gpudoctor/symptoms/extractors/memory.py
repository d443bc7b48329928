"""What messages tell of memory: who held it, how much was wanted, and whether it was only in pieces."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.by_message import pip, who_holds_memory, without_library_path
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import COHERENT
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.tasks import Placeholder, as_root, cmd, code, export, query

_UNITS = {"bytes": 1 / (1 << 30), "kib": 1 / (1 << 20), "mib": 1 / (1 << 10), "gib": 1.0, "tib": 1024.0}
_UNITS |= {"kb": 1 / (1 << 20), "mb": 1 / (1 << 10), "gb": 1.0}
_SIZE = r"(?<![\d.,])(?<![\d.,] )([\d.,]+) ?(bytes|[KMGT]i?B)\b"  # no rest of a number that a wrap has cut
_BEGINS = re.compile(r"(?=CUDA out of memory|HIP out of memory|RESOURCE_EXHAUSTED)")
# A share of the GPU's memory that is more than what the driver and the context take for themselves.
MUCH = 0.1
_SMALLER = Fix(
    "Reduce the batch size (Transformers: per_device_train_batch_size=1), sequence length or image size, "
    "or use gradient checkpointing and 16-bit data types.",
    (
        code("model.gradient_checkpointing_enable()"),
        code('with torch.autocast("cuda", dtype=torch.bfloat16):'),
    ),
)
_MODEL = Placeholder("MODEL", "the model that you serve")
# Of the GPU's memory: vLLM asks for 0.9 by default, so that a little less is enough (vllm/config/cache.py).
_MOSTLY_FREE = 0.8
_OTHERS, _ON_AMD = who_holds_memory(), who_holds_memory("amd")
_PIECES = Fix(
    "Let PyTorch grow its segments: the hint in the message is right here.",
    (export("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),),
    "change-environment",
)
# XLA takes 75 % of the memory at its start, so others of its kind find nothing left.
# https://docs.jax.dev/en/latest/gpu_memory_allocation.html
_PREALLOCATED = Fix(
    "Let JAX (first line) and TensorFlow (second) take memory as they need it, instead of most of it at the start.",
    (export("XLA_PYTHON_CLIENT_PREALLOCATE", "false"), export("TF_FORCE_GPU_ALLOW_GROWTH", "true")),
    "change-environment",
)
# https://github.com/vllm-project/vllm/issues/35313
_CACHE = Fix(
    "Stop what else uses the memory, and drop the page cache right before the start.",
    (as_root("sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches"), query("free", "-h")),
    root=True,
)
# Without them PyTorch writes whole matrices of attention: unslothai/unsloth#8323, ROCm/aotriton#16.
_ATTENTION = Fix(
    "If attention asks for it: use PyTorch's fast kernels, which are off by default on some AMD GPUs.",
    (export("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "1"),),
    "change-environment",
)
LARGE = 0.25  # share of the GPU's memory that is much for one tensor
NO_PIECES = "PyTorch's hint about expandable_segments does not help here: hardly any memory is fragmented"
HELD = ("health.memory-held", "health.stuck-process")
CONTEXT = 1.0  # GiB that CUDA takes for a process next to what PyTorch counts, at most


def out_of_memory(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """PyTorch counts what was held by whom; others say at least how much was wanted.

    What the message does not tell, or what was cut off, is left out; the next message's numbers are not this one's.
    """
    first, *more = _BEGINS.split(" ".join(" ".join(lines[:3]).split()))
    text = first + next(iter(more), "")
    look = _ON_AMD if "HIP " in text else _OTHERS
    tried = _size(rf"(?:Tried to allocate|trying to allocate|allocating) {_SIZE}", text)
    total = _size(rf"total capacity of {_SIZE}", text) or _size(rf"{_SIZE} total capacity", text)
    free = _size(rf"of which {_SIZE} is free", text) or _size(rf"{_SIZE} free", text)
    own = _size(rf"this process has {_SIZE} memory in use", text)
    torch = _size(rf"{_SIZE} reserved in total by PyTorch", text) or _size(rf"{_SIZE} is allocated by PyTorch", text)
    kept = _size(rf"{_SIZE} is reserved by PyTorch but unallocated", text)
    if tried is None or total is None or free is None:
        if tried is None:
            return NOTHING
        fix = _PREALLOCATED if "RESOURCE_EXHAUSTED" in text else look
        wanted = f"The program tried to allocate {_gib(tried)} more."
        return Extracted(details=(wanted,), fixes=(fix, _SMALLER), decided=True)
    elsewhere = _elsewhere(total, facts)
    details = f"It tried to allocate {_gib(tried)} of the GPU's {_gib(total)}; {_gib(free)} were free"
    held = own or torch
    if held is None:
        return Extracted(details=(f"{details}.", *elsewhere), fixes=(look, _SMALLER), decided=True)
    others = total - free - (own or held + CONTEXT)
    least = "" if own else "at least "
    details += f", {_gib(held)} its own"
    advice = NO_PIECES
    rules_out: tuple[str, ...] = HELD
    fixes: tuple[Fix, ...] = (_SMALLER,)
    if others > MUCH * total:
        meaning = "other processes use much of the GPU's memory, and too little was left for this one"
        details, fixes, rules_out = f"{details}, and {least}{_gib(others)} others'.", (look, _SMALLER), ()
    elif kept and kept > tried:
        meaning, advice = "there is enough memory, but it is fragmented", ""
        details, fixes = f"{details}, of which {_gib(kept)} were reserved but unallocated.", (_PIECES, _SMALLER)
    else:
        meaning = "the program itself needs more memory than this GPU has"
        details = f"{details}; no other process used it."
    if look is _ON_AMD and tried > LARGE * total:
        fixes = (*fixes[:-1], _ATTENTION, fixes[-1])
    said = (details, *elsewhere)
    return Extracted(details=said, meaning=meaning, fixes=fixes, decided=True, advice=advice, rules_out=rules_out)


def _elsewhere(total: float, facts: Facts | None) -> tuple[str, ...]:
    """A remark where no GPU of the machine has so much memory; drivers count a little less than the cards have."""
    gpus = facts.gpus if facts and isinstance(facts.gpus, tuple) else ()
    there = [g.memory / (1 << 30) for g in gpus if isinstance(g.memory, int)]
    if not there or any(abs(one - total) < MUCH * total for one in there):
        return ()
    return (f"No GPU of this machine has {_gib(total)}: the message is from another GPU, or from a MIG slice.",)


def vllm_memory(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """VLLM says what was free, and what it wanted."""
    text = " ".join(lines[:2])
    free = re.search(r"\(([\d.]+)/([\d.]+) GiB\)", text)
    wanted = re.search(r"utilization \(([\d.]+), ([\d.]+) GiB\)", text)
    if free is None or wanted is None:
        return NOTHING
    share = max(int(float(free[1]) / float(free[2]) * 100 - 2), 1) / 100
    fits = Fix(
        "Let vLLM take less than what is free; the model still has to fit.",
        (cmd("vllm", "serve", _MODEL, "--gpu-memory-utilization", f"{share:.2f}"),),
    )
    details = (f"{free[1]} of {free[2]} GiB were free at startup, and it wanted {wanted[2]} GiB.",)
    if facts and known_or(facts.host.platform, "") in COHERENT:
        meaning = "GPU and CPU share their memory here, and the page cache counts as used"
        return Extracted(details=details, meaning=meaning, fixes=(_CACHE, fits), decided=True)
    # A desktop, or the contexts of vLLM's own workers, hold so little: nothing has to be stopped.
    mostly_free = float(free[1]) >= _MOSTLY_FREE * float(free[2])
    return Extracted(details=details, fixes=(fits, _OTHERS) if mostly_free else (_OTHERS, fits), decided=True)


def vllm_cache(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """VLLM says what the model's maximum length needs, and what is left."""
    text = " ".join(lines[:4])
    wanted = re.search(r"max seq len \((\d+)\)\W+([\d.]+) GiB KV", text)
    left = re.search(r"available KV cache memory \(([\d.]+) GiB\)", text)
    if wanted is None or left is None:
        return NOTHING
    longest = re.search(r"estimated maximum model length is (\d+)", text)
    # Its cache grows with the length, apart from blocks of 16 tokens and layers with a window of their own.
    fits = int(longest[1]) if longest else int(int(wanted[1]) * float(left[1]) / float(wanted[2]) * 0.98) // 16 * 16
    details = (f"A sequence of {wanted[1]} tokens needs {wanted[2]} GiB of KV cache, and {left[1]} GiB are left.",)
    if fits <= 0:
        return Extracted(details=details)
    shorter = Fix(
        "Serve shorter sequences, which fit.",
        (cmd("vllm", "serve", _MODEL, "--max-model-len", str(fits)),),
    )
    return Extracted(details=details, fixes=(shorter,))


def cudnn_handle(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """XLA says how much memory was free when cuDNN could not start: with much of it free, memory is not the reason."""
    found = re.search(r"Memory usage: (\d+) bytes free, (\d+) bytes total", " ".join(lines))
    if found is None:
        return NOTHING
    free, total = int(found[1]) / (1 << 30), int(found[2]) / (1 << 30)
    details = (f"{_gib(free)} of the GPU's {_gib(total)} were free when cuDNN was initialized.",)
    if free < MUCH * total:
        meaning = "cuDNN could not be initialized: the GPU's memory was full"
        return Extracted(details=details, meaning=meaning, fixes=(_PREALLOCATED, _OTHERS), decided=True)
    meaning = "cuDNN could not be initialized, and not because of memory: a cuDNN other than the program's is loaded"
    message = "If it stays: install the newest cuDNN 9, with which programs that need an older cuDNN 9 work, too."
    newer = Fix(message, (pip("-U", "nvidia-cudnn-cu12"),), "reinstall-package")
    own = without_library_path("a directory in it has another cuDNN than the framework's own")
    return Extracted(details=details, meaning=meaning, fixes=(own, newer), decided=True, rules_out=HELD)


def oom_kill(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """The kernel names the program and what it held."""
    found = re.search(r"killed process (\d+) \(([^)]*)\)(?:.*?anon-rss:(\d+)kB)?", lines[0], re.I)
    if found is None:
        return NOTHING
    held = f", which used {_gib(int(found[3]) / (1 << 20))} of host memory" if found[3] else ""
    return Extracted(details=(f"The kernel killed {found[2]} (process {found[1]}){held}.",))


def _size(source: str, text: str) -> float | None:
    """A size in GiB."""
    found = re.search(source, text)
    if found is None:
        return None
    number = found[1].replace(",", "").rstrip(".")
    return float(number) * _UNITS[found[2].lower()] if number.count(".") < 2 else None


def _gib(size: float) -> str:
    return f"{size:.1f} GiB" if size >= 0.95 else f"{size * 1024:.0f} MiB"


def ggml_memory(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """How much ggml wanted, on which device."""
    found = re.search(r"allocating ([\d.]+) MiB on device (\d+):", lines[0])
    if found is None:
        return NOTHING
    wanted = _gib(float(found[1]) / 1024)
    return Extracted(details=(f"It tried to allocate {wanted} of memory on GPU {found[2]} in one piece.",))
