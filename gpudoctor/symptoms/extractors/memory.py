"""What messages tell of memory: who held it, how much was wanted, and whether it was only in pieces."""

import re
from collections.abc import Sequence

from gpudoctor.facts import Facts
from gpudoctor.symptoms.extractors import NOTHING, Extracted

_UNITS = {"bytes": 1 / (1 << 30), "kib": 1 / (1 << 20), "mib": 1 / (1 << 10), "gib": 1.0, "tib": 1024.0}
_UNITS |= {"kb": 1 / (1 << 20), "mb": 1 / (1 << 10), "gb": 1.0}
_SIZE = r"(?<![\d.,])(?<![\d.,] )([\d.,]+) ?(bytes|[KMGT]i?B)\b"  # no rest of a number that a wrap has cut
_BEGINS = re.compile(r"(?=CUDA out of memory|HIP out of memory|RESOURCE_EXHAUSTED)")
# A share of the GPU's memory that is more than what the driver and the context take for themselves.
MUCH = 0.1
SMALLER = "Reduce the batch size, sequence length or image size, or use gradient checkpointing and 16-bit data types."
OTHERS = "See which processes use the rest and stop them: `nvidia-smi`."
PIECES = (
    "Set PYTORCH_ALLOC_CONF=expandable_segments:True (before PyTorch 2.9: PYTORCH_CUDA_ALLOC_CONF): the hint in the "
    "message is right here."
)
NO_PIECES = "PyTorch's hint about expandable_segments does not help here: hardly any memory is fragmented"
HELD = ("health.memory-held", "health.stuck-process")
CONTEXT = 1.0  # GiB that CUDA takes for a process next to what PyTorch counts, at most


def out_of_memory(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """PyTorch counts what was held by whom; others say at least how much was wanted.

    What the message does not tell, or what was cut off, is left out; the next message's numbers are not this one's.
    """
    first, *more = _BEGINS.split(" ".join(" ".join(lines[:3]).split()))
    text = first + next(iter(more), "")
    tried = _size(rf"(?:Tried to allocate|trying to allocate|allocating) {_SIZE}", text)
    total = _size(rf"total capacity of {_SIZE}", text) or _size(rf"{_SIZE} total capacity", text)
    free = _size(rf"of which {_SIZE} is free", text) or _size(rf"{_SIZE} free", text)
    own = _size(rf"this process has {_SIZE} memory in use", text)
    torch = _size(rf"{_SIZE} reserved in total by PyTorch", text) or _size(rf"{_SIZE} is allocated by PyTorch", text)
    kept = _size(rf"{_SIZE} is reserved by PyTorch but unallocated", text)
    if tried is None or total is None or free is None:
        return (
            Extracted(details=(f"The program tried to allocate {_gib(tried)} more.",)) if tried is not None else NOTHING
        )
    elsewhere = _elsewhere(total, facts)
    details = f"It tried to allocate {_gib(tried)} of the GPU's {_gib(total)}; {_gib(free)} were free"
    held = own or torch
    if held is None:
        return Extracted(details=(f"{details}.", *elsewhere))
    others = total - free - (own or held + CONTEXT)
    least = "" if own else "at least "
    details += f", {_gib(held)} its own"
    if others > MUCH * total:
        meaning = "other processes use much of the GPU's memory, and too little was left for this one"
        said = f"{details}, and {least}{_gib(others)} others'."
        return Extracted(details=(said, *elsewhere), meaning=meaning, tries=(OTHERS,), advice=NO_PIECES)
    if kept and kept > tried:
        meaning = "there is enough memory, but it is fragmented"
        said = f"{details}, of which {_gib(kept)} were reserved but unallocated."
        return Extracted(details=(said, *elsewhere), meaning=meaning, tries=(PIECES,), rules_out=HELD)
    meaning = "the program itself needs more memory than this GPU has"
    said = f"{details}; no other process used it."
    return Extracted(details=(said, *elsewhere), meaning=meaning, tries=(SMALLER,), advice=NO_PIECES, rules_out=HELD)


def _elsewhere(total: float, facts: Facts | None) -> tuple[str, ...]:
    """A remark where no GPU of the machine has so much memory; drivers count a little less than the cards have."""
    gpus = facts.gpus if facts and isinstance(facts.gpus, tuple) else ()
    there = [g.memory / (1 << 30) for g in gpus if isinstance(g.memory, int)]
    if not there or any(abs(one - total) < MUCH * total for one in there):
        return ()
    return (f"No GPU of this machine has {_gib(total)}: the log is from another GPU, or from a MIG slice.",)


def vllm_memory(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """VLLM says what was free, and what it wanted."""
    text = " ".join(lines[:2])
    free = re.search(r"\(([\d.]+)/([\d.]+) GiB\)", text)
    wanted = re.search(r"utilization \(([\d.]+), ([\d.]+) GiB\)", text)
    if free is None or wanted is None:
        return NOTHING
    return Extracted(details=(f"{free[1]} of {free[2]} GiB were free at startup, and it wanted {wanted[2]} GiB.",))


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
