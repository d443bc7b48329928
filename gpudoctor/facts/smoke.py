"""What the smoke tests measured: numbers and outcomes, judged by the checks of the area smoke."""

from typing import Literal

import msgspec

from gpudoctor.facts.text_types import Count, Duration, Generation, Lanes, Number, Small, Whole
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()

Outcome = Literal[
    "done",  # it ran to its end; whether it is well, checks say
    "unsupported",  # this backend or this device cannot do it; `says` says why
    "failed",  # the framework raised an error; `says` holds its words, `error` its kind
    "hung",  # it did not end before its deadline
    "died",  # the process ended under it; `says` says how
    "stopped",  # somebody ended the run
    "not reached",  # an earlier test took the process with it
]
# What an error that a framework raised is, where its type or its words tell.
Error = Literal["out-of-memory", "device-error", "other"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measured number.

    `value` is the median of `samples` where there are several. Rates count 1e9 bytes or 1e12 operations.
    """

    name: str  # "rate", "error", "h2d pinned"
    value: Number
    unit: str  # TFLOP/s, GB/s, images/s, s, ratio, elements, bytes, MHz
    samples: tuple[Number, ...] = ()
    method: str = ""  # how it was measured, in a few words


class During(msgspec.Struct, frozen=True, kw_only=True):
    """What the driver said of the GPU, some 20 times a second, while a test ran on it.

    Clocks are MHz, temperatures degrees Celsius, power watts. None: this GPU has no such thing.
    Counters are how much they grew.
    """

    samples: Small = 0
    sm_clock: Maybe[Number | None] = NOT  # median while the test was timed
    sm_clock_min: Maybe[Number | None] = NOT
    memory_clock: Maybe[Number | None] = NOT  # median
    temperature: Maybe[Number | None] = NOT  # highest
    power: Maybe[Number | None] = NOT  # highest
    reasons: Maybe[tuple[str, ...] | None] = NOT  # that held the clocks at any moment, named as in Gpu.event_reasons
    link_generation: Maybe[Generation | None] = NOT  # highest that was seen: links train up under load
    link_width: Maybe[Lanes | None] = NOT  # at that moment
    ecc_corrected: Maybe[Whole | None] = NOT
    ecc_uncorrected: Maybe[Whole | None] = NOT
    pcie_replays: Maybe[Whole | None] = NOT
    nvlink_replays: Maybe[Whole | None] = NOT  # this and the next two: over all links
    nvlink_recoveries: Maybe[Whole | None] = NOT
    nvlink_crc: Maybe[Whole | None] = NOT


class SmokeTest(msgspec.Struct, frozen=True, kw_only=True):
    """One test, in one data type where it has several, on one device."""

    name: str  # matmul, mnist ... (gpudoctor.smoketests.suite)
    variant: str = ""  # "bf16"; of a test between GPUs "0-1"
    outcome: Outcome = "not reached"
    message: str = ""  # why, where it is not done
    error: Error | None = None
    seconds: Duration | None = None
    figures: tuple[Figure, ...] = ()
    notes: dict[str, bool | Whole | Number | str | None] = {}  # what else decides: {"pinned": True, "size": 8192}
    during: During = During()

    def figure(self, name: str) -> float | None:
        """The value of a figure; None where it was not measured."""
        return next((f.value for f in self.figures if f.name == name), None)


class SmokeRun(msgspec.Struct, frozen=True, kw_only=True):
    """One backend on one device (or on all, for the tests between them): a process of its own."""

    backend: str  # pytorch, tensorflow, cupy, jax, driver, cpu
    kind: str  # of the device: cuda, rocm, cpu
    python: str = ""  # the interpreter's path
    version: str | None = None  # of the framework
    gpu: str | None = None  # its key as gpudoctor.targets.gpu_key gives it; None: the CPU, or several GPUs
    label: str = "CPU"  # "GPU 0", "GPUs 0-7", "CPU"
    name: str | None = None  # of the device, as the backend calls it
    processors: Small | None = None  # streaming multiprocessors or compute units that the backend may use
    copy_engines: Small | None = None  # CUDA's asyncEngineCount
    memory_free: Count | None = None  # bytes, before the tests
    mig: bool = False  # a slice of a GPU
    others: Maybe[Small | None] = NOT  # other processes that computed on the GPU before the tests
    utilization: Maybe[Small | None] = NOT  # per cent, before the tests
    stage: str = "start"  # the last stage that began
    outcome: Outcome = "not reached"  # of the process as a whole: done, failed, hung, died, stopped
    message: str = ""
    error: Error | None = None
    import_seconds: Duration | None = None
    start_seconds: Duration | None = None  # choosing the device and making its context
    threads: Small | None = None  # that the CPU side may use
    stderr: str = ""  # its last lines
    tests: tuple[SmokeTest, ...] = ()


class Smoke(msgspec.Struct, frozen=True, kw_only=True):
    """All smoke tests of one examination; no run: none was asked for."""

    seconds: Duration = 0.0
    instead: bool = False  # no GPU was found, and nobody chose the CPU: nothing was run
    digits: str = ""  # what the training step saw: "256 rendered digits", "digits of a .npz file"
    price: Number | None = None  # dollars per hour of this machine, as the user gave it
    runs: tuple[SmokeRun, ...] = ()
