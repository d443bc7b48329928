"""Puts what `compare` measured on the CPU and on a GPU next to each other: from which size on the GPU pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

import msgspec

from gpudoctor.report import cpu_gpu_words as words
from gpudoctor.report.cpu_gpu_model import ComparedName, ComparedPart, ComparedSize, CpuGpuEntry
from gpudoctor.report.model import SmokeEntry, SmokeTestEntry

KNEE = 0.9  # of the best throughput
RATES = ("inference", "loading")  # parts whose figures are rates, where more is better
HOUR = 3600.0
Measured = dict[str, float]  # figures of one part by name


class Crossing(msgspec.Struct, frozen=True):
    """From where on the GPU is faster.

    Attributes:
        pays_from: the smallest size from which on it is, at this and every larger one; None: at the largest it is not.
        below: the largest size at which the CPU is faster; None: at none.
        largest: the largest that both have.
        times: how many times as fast as the CPU the GPU is there.
    """

    pays_from: int | None
    below: int | None
    largest: int
    times: float


def crossing(speed_ups: Sequence[tuple[int, float]]) -> Crossing | None:
    """From where on a GPU is faster; None where no size was measured on both.

    Args:
        speed_ups: sizes in ascending order, each with how many times as fast as the CPU the GPU is.
    """
    if not speed_ups:
        return None
    slower = [size for size, times in speed_ups if times <= 1]
    below = slower[-1] if slower else None
    faster = [size for size, _ in speed_ups if below is None or size > below]
    return Crossing(faster[0] if faster else None, below, *speed_ups[-1])


def knee(rates: Sequence[tuple[int, float]]) -> int | None:
    """The smallest batch whose throughput is within a tenth of the best; None where none was measured."""
    best = max((rate for _, rate in rates), default=0.0)
    return next((size for size, rate in rates if best and rate >= KNEE * best), None)


def comparisons(entries: Sequence[SmokeEntry], price: float | None = None) -> tuple[CpuGpuEntry, ...]:
    """One comparison for each backend on each GPU; where there is none, for each on the CPU.

    Args:
        entries: of the smoke tests, perhaps not all yet.
        price: dollars per hour of the machine.
    """
    compared = [one for one in entries if any(test.test == "compare" for test in one.tests) or _stillborn(one, entries)]
    cpus = {(one.backend, one.python): one for one in compared if one.kind == "cpu"}
    pairs: list[tuple[SmokeEntry | None, SmokeEntry | None]] = []
    for gpu in compared:
        if gpu.kind != "cpu":
            numpy = next((one for one in cpus.values() if one.backend == "cpu"), None)
            pairs.append((cpus.get((gpu.backend, gpu.python), numpy), gpu))
    taken = [cpu for cpu, _ in pairs]
    pairs += [(cpu, None) for cpu in cpus.values() if cpu not in taken]
    return tuple(_entry(cpu, gpu, price) for cpu, gpu in pairs)


def _stillborn(entry: SmokeEntry, entries: Sequence[SmokeEntry]) -> bool:
    """Whether it is the GPU's half of a comparison that did not even start."""
    halves = [one for one in entries if one.kind == "cpu" and one.backend in (entry.backend, "cpu")]
    only = any({test.test for test in one.tests} == {"compare"} for one in halves)
    return entry.kind != "cpu" and not entry.tests and only


def _entry(cpu: SmokeEntry | None, gpu: SmokeEntry | None, price: float | None) -> CpuGpuEntry:
    one = gpu or cpu
    assert one is not None  # noqa: S101 - a pair has one at least
    parts = tuple(_parts(cpu, gpu))
    ran = gpu is not None and any(size.gpu is not None for part in parts for size in part.sizes)
    entry = CpuGpuEntry(
        backend=one.backend,
        cpu_backend=cpu.backend if cpu else None,
        python=one.python,
        version=one.version or (cpu.version if cpu and cpu.backend == one.backend else None),
        gpu=gpu.device if gpu else None,
        gpu_name=gpu.name if gpu else None,
        cpu_name=cpu.name if cpu else None,
        no_gpu="" if ran else _why(gpu),
        parts=parts,
        dollars_per_hour=price,
    )
    entry = _worth(entry, gpu if ran else None)
    return msgspec.structs.replace(entry, summary=tuple(words.overall(entry, cpu, gpu)))


def _why(gpu: SmokeEntry | None) -> str:
    if gpu is None:
        return "no GPU"
    said = [gpu.message, *(test.message for test in gpu.tests)]
    return next((message for message in said if message), "nothing was measured on it yet")


# -- parts ---------------------------------------------------------------------------------------------------


def _parts(cpu: SmokeEntry | None, gpu: SmokeEntry | None) -> Iterator[ComparedPart]:
    ones, others = _tests(cpu), _tests(gpu)
    for name in get_args(ComparedName):
        if name in ones or name in others:
            yield _part(name, ones.get(name), others.get(name))


def _tests(entry: SmokeEntry | None) -> dict[str, SmokeTestEntry]:
    return {test.variant: test for test in entry.tests if test.test == "compare"} if entry else {}


def _figures(test: SmokeTestEntry | None) -> Measured:
    return {figure.name: figure.value for figure in test.figures} if test else {}


def _part(name: ComparedName, cpu: SmokeTestEntry | None, gpu: SmokeTestEntry | None) -> ComparedPart:
    one, other = _figures(cpu), _figures(gpu)
    sizes = tuple(_sizes(name, one, other, gpu or cpu))
    resident = crossing([(s.size, s.speed_up) for s in sizes if s.size is not None and s.speed_up is not None])
    copied = crossing(
        [(s.size, s.speed_up_with_copies) for s in sizes if s.size is not None and s.speed_up_with_copies is not None]
    )
    batches = name == "inference"
    part = ComparedPart(
        part=name,
        unit="images/s" if name in RATES else "s",
        sizes=sizes,
        pays_from=resident.pays_from if resident else None,
        pays_from_with_copies=copied.pays_from if copied else None,
        knee_cpu=knee([(s.size, s.cpu) for s in sizes if s.size and s.cpu]) if batches else None,
        knee_gpu=knee([(s.size, s.gpu) for s in sizes if s.size and s.gpu]) if batches else None,
        not_reached_cpu=_noted(cpu, "not_reached"),
        not_reached_gpu=_noted(gpu, "not_reached"),
        no_room_cpu=_noted(cpu, "no_room"),
        no_room_gpu=_noted(gpu, "no_room"),
    )
    return msgspec.structs.replace(part, summary=tuple(words.summary(part, resident, copied)))


def _noted(test: SmokeTestEntry | None, name: str) -> str:
    found = test.notes.get(name) if test else None
    return found if isinstance(found, str) else ""


def _sizes(name: str, cpu: Measured, gpu: Measured, test: SmokeTestEntry | None) -> Iterator[ComparedSize]:
    """The pieces of work of a part, in the order in which they were measured, sizes ascending."""
    numbered = "rate " if name == "inference" else "time "
    known = [key for key in dict.fromkeys((*gpu, *cpu)) if key not in ("step", "sustained")]
    if name in ("arrays", "loading"):
        for key in known:
            computing = _computing(gpu or cpu, key, test) if name == "loading" else None
            yield _size(name, key, None, cpu.get(key), gpu.get(key), None, computing)
        return
    for size in sorted({int(key.removeprefix(numbered)) for key in known if key.startswith(numbered)}):
        key = f"{numbered}{size}"
        yield _size(name, f"{size:,}", size, cpu.get(key), gpu.get(key), gpu.get(f"with copies {size}"))


def _size(
    part: str,
    name: str,
    size: int | None,
    cpu: float | None,
    gpu: float | None,
    copied: float | None,
    computing: float | None = None,
) -> ComparedSize:
    def times(value: float | None) -> float | None:
        if not cpu or not value:
            return None
        return value / cpu if part in RATES else cpu / value

    return ComparedSize(
        name=name,
        size=size,
        cpu=cpu,
        gpu=gpu,
        gpu_with_copies=copied,
        speed_up=times(gpu),
        speed_up_with_copies=times(copied),
        computing=computing,
    )


def _computing(figures: Measured, key: str, test: SmokeTestEntry | None) -> float | None:
    """The part of the time in which the device computes: the seconds of a step alone over those with its loading."""
    batch = test.notes.get("batch") if test else None
    if key not in figures or "step" not in figures or isinstance(batch, bool) or not isinstance(batch, int | float):
        return None
    return min(1.0, figures["step"] * figures[key] / batch) if batch else None


# -- per watt, per dollar ------------------------------------------------------------------------------------


def _worth(entry: CpuGpuEntry, gpu: SmokeEntry | None) -> CpuGpuEntry:
    """With the largest matmul's rate, by watt and by dollar, and images by dollar; of the CPU where there is no GPU."""
    test = _tests(gpu).get("matmul")
    rate, images = _figures(test).get("sustained"), 0.0
    price = entry.dollars_per_hour
    for part in entry.parts:
        values = [(size.size or 0, size.gpu if gpu else size.cpu) for size in part.sizes]
        known = [(size, value) for size, value in values if value]
        if part.part == "matmul" and known and not gpu:
            rate = 2e-12 * known[-1][0] ** 3 / known[-1][1]
        if part.part == "inference" and known:
            images = max(value for _, value in known)
    watts = test.during.get("power") if test else None
    power = float(watts) if isinstance(watts, int | float) and not isinstance(watts, bool) and watts > 0 else None
    return msgspec.structs.replace(
        entry,
        rate=rate,
        power=power,
        tflops_per_watt=rate / power if rate and power else None,
        tflop_per_dollar=rate * HOUR / price if rate and price else None,
        images_per_dollar=images * HOUR / price if images and price else None,
    )
