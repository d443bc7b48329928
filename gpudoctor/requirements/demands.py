"""The demands that a script can name, and how each is read from the facts."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gpudoctor.facts import Facts, Framework, Gpu
from gpudoctor.maybe import Maybe, Unknown, text_of
from gpudoctor.queries.driver import driver_version, user_version
from gpudoctor.queries.gpus import programs_open
from gpudoctor.registry import BY_MODULE, FRAMEWORKS

Number = int | float


class Demand(NamedTuple):
    """One demand.

    Attributes:
        name: the argument of `require`.
        operator: of gpudoctor.expect.operators, which reads what is given and compares with it.
        read: what the facts say; an Unknown with its reason where they do not.
        message: what it is, for a sentence.
        lacks: areas or ids of checks whose findings explain that there is no value, or that nobody knows it.
        differs: of those whose findings explain that there is another value than the wanted one; none: nothing that
            is wrong makes it another one.
        next: the value that it has as soon as what is installed is loaded.
        smoke: the smoke test that has to run for it; "": none.
    """

    name: str
    operator: str
    read: Callable[[Facts], Maybe[object]]
    message: str
    lacks: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    next: Callable[[Facts], Maybe[object]] | None = None
    smoke: str = ""


def _gpus(facts: Facts) -> Maybe[tuple[Gpu, ...]]:
    gpus = facts.gpus
    return gpus if isinstance(gpus, Unknown) else tuple(gpu for gpu in gpus if gpu.status in ("ok",) or _open(gpu))


def _open(gpu: Gpu) -> bool:
    """Whether nobody knows its state: it counts, and what is demanded of it says that it is unknown."""
    return isinstance(gpu.status, Unknown)


def count(facts: Facts) -> Maybe[object]:
    """GPUs that the driver lists and that programs can use: NVML lists them also where CUDA does not start."""
    gpus = _gpus(facts)
    if isinstance(gpus, Unknown):
        return gpus
    opens = {vendor: programs_open(facts, vendor) for vendor in {gpu.vendor for gpu in gpus}}
    unknown = next((one for one in opens.values() if isinstance(one, Unknown)), None)
    return unknown or sum(opens[gpu.vendor] is True for gpu in gpus)


def names(facts: Facts) -> Maybe[object]:
    """The models of all GPUs."""
    gpus = _gpus(facts)
    if isinstance(gpus, Unknown):
        return gpus
    found = [gpu.name for gpu in gpus]
    return next((name for name in found if isinstance(name, Unknown)), tuple(text_of(name) for name in found))


def least(of: Callable[[Gpu], Maybe[Number | None]]) -> Callable[[Facts], Maybe[object]]:
    """The smallest of a value over all GPUs; None: a GPU has none, or there is no GPU."""

    def read(facts: Facts) -> Maybe[object]:
        gpus = _gpus(facts)
        if isinstance(gpus, Unknown):
            return gpus
        values = [of(gpu) for gpu in gpus]
        unknown = next((value for value in values if isinstance(value, Unknown)), None)
        if unknown is not None:
            return unknown
        numbers = [value for value in values if isinstance(value, int | float)]
        return min(numbers) if numbers and len(numbers) == len(values) else None

    return read


def _memory(gpu: Gpu) -> Maybe[Number | None]:
    return gpu.memory / 2**30 if isinstance(gpu.memory, int) else gpu.memory


def _capability(facts: Facts) -> Maybe[object]:
    """The lowest compute capability."""
    gpus = _gpus(facts)
    if isinstance(gpus, Unknown):
        return gpus
    found = [gpu.capability for gpu in gpus]
    unknown = next((one for one in found if isinstance(one, Unknown)), None)
    known = [one for one in found if isinstance(one, str)]
    return unknown or min(known, key=lambda one: tuple(map(int, one.split("."))), default=None)


def _framework(facts: Facts, name: str) -> Framework | None:
    return next((f for python in facts.pythons for f in python.frameworks if f.name == name), None)


def sees(name: str) -> Callable[[Facts], Maybe[object]]:
    """How many GPUs a framework can use; None: it is not installed."""

    def read(facts: Facts) -> Maybe[object]:
        found = _framework(facts, name)
        if found is None:
            return None
        if found.live is None:
            return Unknown(f"{BY_MODULE[name].title} was not imported (quick)")
        return 0 if found.live.import_error or found.live.hung or found.live.died else found.live.count

    return read


def version(name: str) -> Callable[[Facts], Maybe[object]]:
    """A framework's version; None: it is not installed."""

    def read(facts: Facts) -> Maybe[object]:
        found = _framework(facts, name)
        return None if found is None else found.version

    return read


def figure(test: str, name: str, variant: str = "") -> Callable[[Facts], Maybe[object]]:
    """The smallest of a measured value over all devices; Unknown where no smoke test measured it."""

    def read(facts: Facts) -> Maybe[object]:
        tests = [t for run in facts.smoke.runs for t in run.tests if t.name == test and t.variant == variant]
        values = [value for one in tests if (value := one.figure(name)) is not None]
        if len(values) < len(tests) or not values:
            why = next((one.message for one in tests if one.figure(name) is None and one.message), "")
            return Unknown(why or f"the smoke test {test} has not measured it")
        return min(values)

    return read


# Whose findings say why there is no GPU of NVIDIA's, or one less; the same of any vendor; and why none is usable.
OF_NVIDIA = ("device", "driver", "wsl", "container", "cloud", "cluster", "windows")
OF_GPUS = (*OF_NVIDIA, "rocm")
_OF_USABLE = ("visibility", *OF_GPUS, "intel", "apple")
_OF_PYTHON = ("python.interpreter-broken", "python.half-removed")


def _all() -> Iterator[Demand]:
    yield Demand("driver", "version", driver_version, "NVIDIA's driver", OF_NVIDIA, next=user_version)
    yield Demand(
        "cuda", "version", lambda facts: facts.nvidia.cuda.version, "CUDA version supported by the driver", OF_NVIDIA
    )
    yield Demand("rocm", "version", lambda facts: facts.amd.rocm, "ROCm", ("rocm", "device"))
    yield Demand("gpus", "at_least", count, "usable GPUs", (*OF_GPUS, "mig"), (*OF_GPUS, "mig"))
    yield Demand("gpu", "contains", names, "name of every GPU", OF_GPUS)
    yield Demand("memory_gib", "at_least", least(_memory), "smallest GPU memory in GiB", OF_GPUS, ("mig",))
    yield Demand("compute_capability", "version", _capability, "lowest compute capability", OF_GPUS)
    for one in FRAMEWORKS:
        lacks = (one.area, *_OF_PYTHON)
        if one.counts_gpus:
            differs, message = (one.area, *_OF_USABLE), f"GPUs that {one.title} can use"
            yield Demand(f"{one.module}_sees", "at_least", sees(one.module), message, lacks, differs)
        yield Demand(one.module, "version", version(one.module), one.title, lacks)
    for name, way in (("h2d", "from pinned memory to the GPU"), ("d2h", "from the GPU to pinned memory")):
        yield _rate(f"pinned_{name}_gbps", f"copies {way} in GB/s", "transfer", f"{name} pinned", slowed_by="link")
    for name in ("fp32", "tf32", "fp16", "bf16", "fp8"):
        message = f"matmul rate in {name} in TFLOP/s"
        yield _rate(f"matmul_{name}_tflops", message, "matmul", "rate", name, slowed_by="health")


def _rate(name: str, message: str, *figures: str, slowed_by: str) -> Demand:
    """What a smoke test measures; an area of checks says what slows it down."""
    read, lacks, differs = figure(*figures), ("smoke", *OF_GPUS), ("smoke", slowed_by)
    return Demand(name, "at_least", read, message, lacks, differs, smoke=figures[0])


DEMANDS = {one.name: one for one in _all()}
