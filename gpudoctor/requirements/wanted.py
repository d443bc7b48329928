"""The demands that a script can name, and how each is read from the facts."""

from collections.abc import Callable
from typing import NamedTuple

from gpudoctor.facts import Facts, Framework, Gpu
from gpudoctor.maybe import Maybe, Unknown, text_of
from gpudoctor.subjects import NAMES
from gpudoctor.views.driver import driver_version

Number = int | float


class Demand(NamedTuple):
    """One demand.

    Attributes:
        name: the argument of `require`.
        kind: what is given: "version" (a specifier as in packaging), "least" (a number), or "text".
        read: what the facts say; an Unknown with its reason where they do not.
        says: what it is, for a sentence.
        areas: of checks whose findings may explain it.
        smoke: the smoke test that has to run for it; "": none.
    """

    name: str
    kind: str
    read: Callable[[Facts], Maybe[object]]
    says: str
    areas: tuple[str, ...] = ()
    smoke: str = ""


def _gpus(facts: Facts) -> Maybe[tuple[Gpu, ...]]:
    gpus = facts.gpus
    return gpus if isinstance(gpus, Unknown) else tuple(gpu for gpu in gpus if gpu.status in ("ok",) or _open(gpu))


def _open(gpu: Gpu) -> bool:
    """Whether nobody knows its state: it counts, and what is demanded of it says that it is unknown."""
    return isinstance(gpu.status, Unknown)


def count(facts: Facts) -> Maybe[object]:
    """GPUs that the driver lists and that answer."""
    gpus = _gpus(facts)
    return gpus if isinstance(gpus, Unknown) else len(gpus)


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
            return Unknown(f"{NAMES[name]} was not imported (quick)")
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
            why = next((one.says for one in tests if one.figure(name) is None and one.says), "")
            return Unknown(why or f"the smoke test {test} has not measured it")
        return min(values)

    return read


_SHORT = {"torch": "pytorch"} | {name: name for name in ("tensorflow", "jax", "cupy", "onnxruntime")}

DEMANDS = {
    one.name: one
    for one in (
        Demand("driver", "version", driver_version, "NVIDIA's driver", ("driver", "wsl", "container", "device")),
        Demand("cuda", "version", lambda facts: facts.nvidia.cuda.version, "the driver's CUDA", ("driver", "wsl")),
        Demand("rocm", "version", lambda facts: facts.amd.rocm, "ROCm", ("rocm",)),
        Demand("gpus", "least", count, "GPUs that answer", ("device", "driver", "wsl", "container", "rocm", "mig")),
        Demand("gpu", "text", names, "every GPU's name", ("device",)),
        Demand("memory_gib", "least", least(_memory), "the smallest GPU memory in GiB", ("device", "mig")),
        Demand("compute_capability", "version", _capability, "the lowest compute capability", ("device",)),
        *(
            Demand(
                f"{name}_sees", "least", sees(name), f"GPUs that {NAMES[name]} can use", (_SHORT[name], "visibility")
            )
            for name in NAMES
            if name != "onnxruntime"
        ),
        *(Demand(name, "version", version(name), NAMES[name], (_SHORT[name],)) for name in NAMES),
        Demand(
            "pinned_h2d_gbps",
            "least",
            figure("transfer", "h2d pinned"),
            "copies from pinned memory to the GPU in GB/s",
            ("smoke", "link"),
            "transfer",
        ),
        Demand(
            "pinned_d2h_gbps",
            "least",
            figure("transfer", "d2h pinned"),
            "copies from the GPU to pinned memory in GB/s",
            ("smoke", "link"),
            "transfer",
        ),
        *(
            Demand(
                f"matmul_{dtype}_tflops",
                "least",
                figure("matmul", "rate", dtype),
                f"products of matrices in {dtype} in TFLOP/s",
                ("smoke", "health"),
                "matmul",
            )
            for dtype in ("fp32", "tf32", "fp16", "bf16", "fp8")
        ),
    )
}
