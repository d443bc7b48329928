"""The comparison of a GPU with the CPU in words: sentences, and the lines of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudoctor.report.cpu_gpu_model import ComparedPart, ComparedSize, CpuGpuEntry
from gpudoctor.report.numbers import amount
from gpudoctor.report.smoke_rows import TITLES, times
from gpudoctor.workers.smoke.tests.compare import BUDGET, STEPS

if TYPE_CHECKING:
    from gpudoctor.report.cpu_gpu import Crossing
    from gpudoctor.report.model import SmokeEntry

HEADINGS = {
    "matmul": "Matmul N x N, fp32",
    "training": f"Training, {STEPS} steps: 100 features, 50 hidden ReLU, 10 classes",
    "inference": "Inference, small convolutional network, fp32",
    "arrays": "Array operations, 1,000 x 1,000, fp32",
    "loading": "DataLoader and training step, images of 75 x 75",
}
AXES = {"matmul": "N", "training": "samples per step", "inference": "batch", "arrays": "", "loading": ""}
SMALL_WORK = {
    "matmul": "launching a kernel costs more than the work in it",
    "training": "a step launches dozens of small kernels, which costs more than the work in them",
    "inference": "launching the kernels costs more than the work in them",
}
COPIES = "transfer and launch cost more than the work"
HARDLY = 0.9  # of the time computing: nothing to gain from faster loading
MATTERS = 1.1  # what is not this many times as fast makes no difference worth a word
BUSY_CPU = 1.5  # others' load by core from which the CPU's times are said to be too long


def title(entry: CpuGpuEntry) -> str:
    """What is compared: "PyTorch 2.9.1: GPU 0 (NVIDIA H100) next to the CPU (AMD EPYC 9554)"."""
    name = f"{TITLES.get(entry.backend, entry.backend)} {entry.version or ''}".strip()
    cpu = f"the CPU ({entry.cpu_name})" if entry.cpu_name else "the CPU"
    if entry.gpu is None:
        return f"{name}: {cpu}, no GPU"
    gpu = entry.gpu + (f" ({entry.gpu_name})" if entry.gpu_name else "")
    other = f"{TITLES['cpu']} on " if entry.cpu_backend == "cpu" != entry.backend else ""
    return f"{name}: {gpu} next to {other}{cpu}"


def table(entry: CpuGpuEntry, part: ComparedPart) -> list[tuple[str, ...]]:
    """A part's table: the heads of its columns, then a row a size; all columns but the first end at the right."""
    sizes, unit = part.sizes, part.unit
    if part.part == "loading" and on_gpu(part):  # what matters is what the loader does to the GPU
        sizes = tuple(size for size in sizes if size.gpu is not None)
    columns = [(AXES[part.part], [size.name for size in sizes])]
    if not (part.part == "loading" and on_gpu(part)):
        columns.append(("CPU", [_shown(size.cpu, unit) for size in sizes]))
    columns.append(("GPU", ["no GPU" if entry.gpu is None else _shown(size.gpu, unit) for size in sizes]))
    if part.part != "loading" and any(size.speed_up is not None for size in sizes):
        columns.append(("speed-up", [_times(size.speed_up) for size in sizes]))
    if any(size.gpu_with_copies is not None for size in sizes):
        columns.append(("with copies", [_shown(size.gpu_with_copies, unit) for size in sizes]))
        columns.append(("speed-up", [_times(size.speed_up_with_copies) for size in sizes]))
    if part.part == "loading":
        device = "GPU" if on_gpu(part) else "CPU"
        columns.append((f"{device} computes", ["" if s.computing is None else f"{s.computing:.0%}" for s in sizes]))
    return list(zip(*([head, *cells] for head, cells in columns), strict=True))


def on_gpu(part: ComparedPart) -> bool:
    """Whether anything of a part was measured on a GPU."""
    return any(size.gpu is not None for size in part.sizes)


def _shown(number: float | None, unit: str) -> str:
    return "not measured" if number is None else value(number, unit)


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """The lines of a table."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}" for at, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    ]


def _times(speed_up: float | None) -> str:
    return "" if speed_up is None else f"{times(speed_up)} times"


def value(number: float, unit: str) -> str:
    """A measured value with its unit; seconds as people say them."""
    if unit != "s":
        return f"{amount(number)} {unit}"
    if number >= 1:
        return f"{amount(number)} s"
    return f"{amount(number * 1e3)} ms" if number >= 1e-3 else f"{amount(number * 1e6)} us"


# -- sentences -----------------------------------------------------------------------------------------------


def summary(part: ComparedPart, resident: Crossing | None, copied: Crossing | None) -> Iterator[str]:
    """What a part comes to."""
    axis = AXES[part.part]
    if copied:
        yield f"With copies, {_paying(copied, axis, COPIES)}"
    if resident:
        reason = SMALL_WORK[part.part]
        paying = _paying(resident, axis, reason)
        yield f"With the data on the GPU, {paying}" if copied else paying[:1].upper() + paying[1:]
    if part.part == "inference":
        yield from _knees(part)
    if part.part == "arrays":
        yield from _arrays(part)
    if part.part == "loading":
        yield from _loading(part)
    for device, left in (("CPU", part.not_reached_cpu), ("GPU", part.not_reached_gpu)):
        if left:
            yield f"Not reached on the {device} within its {BUDGET:.0f} s: {_left(axis, left)}."
    for device, left in (("CPU", part.no_room_cpu), ("GPU", part.no_room_gpu)):
        if left and part.part == "loading":
            yield "Workers were not tried: /dev/shm is missing or nearly full. In a container, set --shm-size=1g."
            break
        if left:
            yield f"Too little free memory on the {device}: {_left(axis, left)}."


def _left(axis: str, names: str) -> str:
    """What was not measured, as the table would have named it."""
    grouped = ", ".join(f"{int(one):,}" if one.isdigit() else one for one in names.split(", "))
    return f"{axis} {grouped}".strip()


def _paying(found: Crossing, axis: str, reason: str) -> str:
    largest = f"{times(found.times)} times the CPU's speed at {_at(axis, found.largest)}"
    if found.pays_from is None:
        return f"the GPU does not pay off up to {_at(axis, found.largest)} ({largest}): {reason}."
    if found.below is None:
        return f"the GPU is faster at every measured size: {largest}."
    return (
        f"at {_at(axis, found.below)} the CPU is still faster: {reason}. "
        f"From {_at(axis, found.pays_from)} on the GPU pays off: {largest}."
    )


def _at(axis: str, size: int) -> str:
    return {"N": f"N={size:,}", "batch": f"batch {size:,}"}.get(axis, f"{size:,} {axis}")


def _knees(part: ComparedPart) -> Iterator[str]:
    for device, found in (("CPU", part.knee_cpu), ("GPU", part.knee_gpu)):
        rates = [(s.size or 0, s.cpu if device == "CPU" else s.gpu) for s in part.sizes]
        known = [(size, rate) for size, rate in rates if rate]
        if found is None or len(known) < 2:
            continue
        best = f"{amount(max(rate for _, rate in known))} images/s"
        if found == known[-1][0]:
            yield f"{device}: {best}, and throughput still rises at batch {found:,}, the largest measured."
        else:
            yield f"{device}: batch {found:,} is enough: it is the smallest within 10% of the best, {best}."


def _arrays(part: ComparedPart) -> Iterator[str]:
    both = [(s.name, s.speed_up) for s in part.sizes if s.speed_up is not None]
    faster = [f"{name} ({times(found)} times)" for name, found in both if found > 1]
    slower = [f"{name} ({times(found)} times)" for name, found in both if found <= 1]
    if faster:
        yield f"Faster on the GPU: {', '.join(faster)}."
    if slower:
        yield f"Slower on the GPU: {', '.join(slower)}: too little work for a kernel launch."


def _loading(part: ComparedPart) -> Iterator[str]:
    """What keeps the device waiting, and what of workers, pinned memory and copies that do not block helps."""
    gpu = on_gpu(part)
    rates = {size.name: size.gpu if gpu else size.cpu for size in part.sizes}
    found = [size for size in part.sizes if rates[size.name] and size.computing is not None]
    if not found:
        return
    best = max(found, key=lambda size: rates[size.name] or 0.0)
    computing = best.computing or 0.0
    device = "GPU" if gpu else "CPU"
    if not gpu:
        yield f"Fastest: {best.name}. Without a GPU the workers share the CPU with the training step."
    elif computing >= HARDLY:
        yield f"With {best.name} the {device} hardly waits: it computes {computing:.0%} of the time."
    else:
        yield (
            f"The {device} waits for data {1 - computing:.0%} of the time, even with {best.name}: the CPU prepares "
            "samples too slowly. Decode on the GPU, prepare samples once and store them, or use more cores."
        )
    yield from _helped(best, {name: rate for name, rate in rates.items() if rate}, gpu)


def _helped(best: ComparedSize, rates: dict[str, float], gpu: bool) -> Iterator[str]:
    workers, *copies = best.name.split(", ")
    alone, plain = ", ".join(("0 workers", *copies)), rates.get(workers)
    if alone in rates and alone != best.name:
        yield f"{workers.capitalize()} instead of 0: {times(rates[best.name] / rates[alone])} times as fast."
    both = rates.get(f"{workers}, pinned, non-blocking")
    if gpu and plain and both:
        gain = both / plain
        made = f"{times(gain)} times as fast" if gain >= MATTERS else "no difference here"
        yield f"pin_memory with non_blocking at {workers}: {made}."


def overall(entry: CpuGpuEntry, cpu: SmokeEntry | None, gpu: SmokeEntry | None) -> Iterator[str]:
    """What holds for the whole comparison: what is missing or disturbed, and what a watt and a dollar bring."""
    if entry.gpu is None:
        yield "Without a GPU there is nothing to compare: these are the CPU's times alone."
    elif entry.no_gpu:
        yield f"Nothing was measured on {entry.gpu}: {entry.no_gpu}"
    if entry.rate and entry.tflops_per_watt and entry.power:
        yield (
            f"{amount(entry.rate)} TFLOP/s in fp32 at {entry.power:.0f} W: "
            f"{amount(entry.tflops_per_watt)} TFLOP/s per watt."
        )
    elif entry.rate and not entry.no_gpu:
        yield f"{amount(entry.rate)} TFLOP/s in fp32. The driver reported no power, so there is no figure per watt."
    if entry.dollars_per_hour and entry.tflop_per_dollar:
        images = f", or {_rounded(entry.images_per_dollar)} images of inference" if entry.images_per_dollar else ""
        yield (
            f"At ${entry.dollars_per_hour:,.2f} per hour a dollar buys {_rounded(entry.tflop_per_dollar)} TFLOP of "
            f"fp32 matmul{images}{', on the CPU' if entry.no_gpu else ''}."
        )
    load, cores = (_number(cpu, name) for name in ("load", "cores"))
    if load and cores and load > BUSY_CPU * cores:
        yield f"Other programs used the CPU (load {load:.1f} on {cores:.0f} cores), so its times are too long."
    if gpu and gpu.busy:
        yield "Other processes use this GPU, so its times are too long."


def _rounded(number: float) -> str:
    """Three digits that count."""
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 100 else amount(number)


def _number(entry: SmokeEntry | None, name: str) -> float | None:
    found = (test.notes.get(name) for test in (entry.tests if entry else ()) if test.test == "compare")
    return next((float(one) for one in found if isinstance(one, int | float) and not isinstance(one, bool)), None)
