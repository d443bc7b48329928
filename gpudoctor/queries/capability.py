"""Holds the architectures that a framework was compiled for against the GPUs that are there."""

from collections.abc import Sequence
from typing import Literal

from gpudoctor.check_engine import Severity
from gpudoctor.facts import Facts, Gpu
from gpudoctor.knowledge import generations
from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.maybe import Maybe, Unknown, known
from gpudoctor.targets import gpus_of


def compiled_for(*said: Maybe[tuple[str, ...]]) -> tuple[str, ...]:
    """What a build for GPUs was compiled for: the first list that names anything.

    An empty list is one that could not be read: no build for GPUs is compiled for nothing.

    Raises:
        UnknownFactError: no list names anything.
    """
    for archs in said:
        if not isinstance(archs, Unknown) and archs:
            return archs
    why = next(
        (archs for archs in said if isinstance(archs, Unknown)),
        Unknown("its files do not name the GPUs that it was compiled for"),
    )
    return known(why)


def target(arch: str) -> tuple[str, str] | None:
    """Kind and capability of an architecture: "sm_120a" is ("sm", "12.0"); None where it is none of NVIDIA's."""
    kind, _, digits = arch.partition("_")
    digits = digits.rstrip("af")
    if kind not in ("sm", "compute") or not digits.isdigit() or len(digits) < 2:
        return None
    return kind, f"{digits[:-1]}.{digits[-1]}"


def covers(archs: Sequence[str], capability: str, both: bool = False) -> Literal["machine code", "ptx"] | None:
    """What in a list of architectures runs on a GPU, or None.

    Args:
        archs: sm_80, sm_90a, compute_90.
        capability: "8.6".
        both: compute_80 stands for machine code and PTX, as in TensorFlow's build_info.
    """
    words = []
    for arch in archs:
        found = target(arch)
        if found is None:
            continue
        kind, number = found
        if arch.endswith("a") and number != capability:
            continue  # code for one chip alone
        words += [number] if kind == "sm" or both else []
        words += [f"{number}+PTX"] if kind == "compute" else []
    return coverage(" ".join(words), capability)


def capabilities(archs: Sequence[str]) -> list[str]:
    """The capabilities of a list of architectures, lowest first, each once."""
    found = {t[1] for arch in archs if (t := target(arch))}
    return sorted(found, key=version)


def sm(capability: str) -> str:
    """The name of a capability's machine code: "12.0" is "sm_120"."""
    return "sm_" + capability.replace(".", "")


def side(archs: Sequence[str], capability: str) -> Literal["newer", "older", "between"]:
    """Whether a GPU that is not covered is newer or older than all that was compiled."""
    there = [version(c) for c in capabilities(archs)]
    own = version(capability)
    if not there or own > max(there):
        return "newer"
    return "older" if own < min(there) else "between"


def words(archs: Sequence[str], capability: str) -> str:
    """What the build has instead, for people: "it covers only up to sm_90"."""
    there = capabilities(archs)
    if not there:
        return "it has no code for NVIDIA GPUs"
    where = side(archs, capability)
    if where == "newer":
        return f"it covers only up to {sm(there[-1])}"
    if where == "older":
        return f"its kernels start at {sm(there[0])}; support for older GPUs was dropped from this build"
    return f"it was compiled only for {', '.join(sm(c) for c in there)}"


def gpu_words(gpu: Gpu) -> str:
    """A GPU with what decides, for people: "GPU 0 (NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0)"."""
    capability = gpu.capability if isinstance(gpu.capability, str) else None
    found = generations.generation_of_capability(capability) if capability else None
    said = gpu.generation if isinstance(gpu.generation, str) else found.name if found else None
    parts = [gpu.name if isinstance(gpu.name, str) else None, said]
    parts += [f"compute capability {capability}, {sm(capability)}"] if capability else []
    return f"GPU {gpu.index} ({', '.join(p for p in parts if p)})"


def arch_severity(facts: Facts) -> Severity | None:
    """None (the check's own) where a driver lists the GPU; a warning where only the bus does.

    That a build has no code for a GPU is certain from the GPU's PCI id, whatever is wrong with the driver, and fixing
    the driver would only bring it to light: so it stays a finding of its own, below the one that stops everything now.
    """
    # An older Jetson has no NVML that could list its GPU.
    return None if gpus_of(facts, "nvidia") or facts.host.platform == "jetson" else Severity.WARNING
