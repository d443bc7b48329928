"""Packages without code for GPUs of this age."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.python_rules import cuda_in_name, has_floor, lowest_capability
from gpudoctor.maybe import known, present
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons

_INSTEAD = {
    "flash-attn": "Use PyTorch's own attention, which runs on this GPU: "
    'attn_implementation="sdpa" in transformers, torch.nn.functional.scaled_dot_product_attention elsewhere.',
    "vllm": "Use an inference engine supports this GPU, such as llama.cpp or transformers.",
}


def _elsewhere(version: str) -> bool:
    """A build for the CPU or another vendor's GPUs: vllm 0.11.0+cpu."""
    return version.partition("+")[2].startswith(("cpu", "rocm", "xpu"))


def _floors(on: OnPython) -> list[tuple[Package, str]]:
    """The packages with a minimum compute capability, and that minimum."""
    named = (
        p for p in packages_of(on.python) if has_floor(p.name) and numbers(p.version) and not _elsewhere(p.version)
    )
    found = ((p, lowest_capability(p.name, p.version)) for p in named)
    return [(package, floor) for package, floor in found if floor]


def _unsupported(on: OnPython) -> list[tuple[Package, str]]:
    """Those whose minimum no visible GPU reaches."""
    floors = _floors(on)
    if not floors:
        return []
    best = max((version(known(g.capability) or "0") for g in visible_gpus(on.facts)), default=None)
    return [(package, floor) for package, floor in floors if best and best < version(floor)]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    package, _ = _unsupported(on)[0]
    stem, cuda = cuda_in_name(package.name) or (package.name, "")
    capability = present(visible_gpus(on.facts)[0].capability)
    twelve = f"{stem}-cu12"
    if cuda == "13" and (floor := lowest_capability(twelve, package.version)) and version(capability) >= version(floor):
        commands = (uninstall(on.python, package.name), install(on.python, twelve))
        message = f"Install the build for CUDA 12, {twelve}, which has code for this GPU."
        return (Fix(message, commands, "reinstall-package"),)
    other = (
        f"Use a GPU of compute capability {_unsupported(on)[0][1]} or newer for {stem}, or an older release of {stem}."
    )
    message = _INSTEAD.get(stem, other)
    return (Fix(message),) if message == other else (Fix(message), Fix(other))


@check(
    title="A package does not support this GPU's compute capability",
    severity=Severity.WARNING,
    cause="It is compiled only for newer GPU generations, whose instructions it uses; PyTorch itself may work on this "
    "GPU, and the package installs without an error.",
    fixes=_fixes,
    references=(
        "https://github.com/Dao-AILab/flash-attention/issues/542",
        "https://docs.vllm.ai/en/v0.14.0/getting_started/installation/gpu/",
        "https://docs.rapids.ai/platform-support",
        "https://docs.rapids.ai/notices/rsn0034/",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.packages?",),
    caused_by=("pytorch.arch-missing",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def gpu_too_old(on: OnPython) -> Problem | None:
    """Every visible NVIDIA GPU is below the lowest compute capability of a package."""
    known(on.python.packages)
    unsupported = _unsupported(on)
    if not unsupported:
        return None
    package, floor = unsupported[0]
    more = f" The same applies to {', '.join(p.name for p, _ in unsupported[1:4])}." if len(unsupported) > 1 else ""
    gpu = gpu_words(visible_gpus(on.facts)[0])
    return Problem(f"{package.name} {package.version} needs compute capability {floor} or newer; {gpu} has less.{more}")
