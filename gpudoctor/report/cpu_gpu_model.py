"""The comparison of a GPU with the CPU as data: parts of the report, which `gpudoctor smoke compare` fills."""

from typing import Literal

import msgspec

from gpudoctor.facts.text_types import Count, Number

ComparedName = Literal["matmul", "training", "inference", "arrays", "loading"]


class ComparedSize(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work on both devices; None: not measured there."""

    name: str  # as people read it: "512", "sort", "4 workers, pinned"
    size: Count | None = None  # N, samples per step, batch
    cpu: Number | None = None  # in the part's unit
    gpu: Number | None = None  # with the data on the GPU already
    gpu_with_copies: Number | None = None  # with the data copied there and back
    speed_up: Number | None = None  # how many times as fast as the CPU the GPU is
    speed_up_with_copies: Number | None = None
    computing: Number | None = None  # loading: the part of the time, 0 to 1, in which the device computes


class ComparedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of work, from small to large."""

    part: ComparedName
    unit: str  # s; images/s
    sizes: tuple[ComparedSize, ...] = ()
    # The smallest measured size from which on the GPU is faster; None: it is at none, or one of the two is missing.
    pays_from: Count | None = None
    pays_from_with_copies: Count | None = None
    # The smallest batch whose throughput is within 10% of the best.
    knee_cpu: Count | None = None
    knee_gpu: Count | None = None
    summary: tuple[str, ...] = ()
    not_reached_cpu: str = ""  # what the time did not suffice for
    not_reached_gpu: str = ""
    no_room_cpu: str = ""  # what the memory did not suffice for
    no_room_gpu: str = ""


class CpuGpuEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One framework on one GPU and on the CPU."""

    backend: str  # on the GPU; without one on the CPU
    cpu_backend: str | None = None  # "cpu" (NumPy) next to a framework that runs on GPUs alone; None: not measured
    python: str = ""
    version: str | None = None
    gpu: str | None = None  # "GPU 0"; None: no GPU
    gpu_name: str | None = None
    cpu_name: str | None = None
    no_gpu: str = ""  # why nothing was measured on a GPU
    parts: tuple[ComparedPart, ...] = ()
    rate: Number | None = None  # TFLOP/s of the largest matmul in fp32: of the GPU, without one of the CPU
    power: Number | None = None  # watts that the GPU drew meanwhile
    tflops_per_watt: Number | None = None
    dollars_per_hour: Number | None = None  # as the user gave it
    tflop_per_dollar: Number | None = None  # 1e12 operations
    images_per_dollar: Number | None = None  # of inference at the best batch
    summary: tuple[str, ...] = ()
