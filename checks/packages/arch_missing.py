"""A package next to the frameworks whose compiled code is for other GPUs."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu, Python
from gpudoctor.facts.python import PackageCode
from gpudoctor.fixes.extensions import for_capability, with_module
from gpudoctor.knowledge.cuda_extensions import has_modules, module_missing
from gpudoctor.maybe import Unknown, known, known_or, present
from gpudoctor.queries.capability import covers, gpu_words, words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import and_more, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons


def _found(on: OnPython) -> list[tuple[PackageCode, Gpu, str]]:
    """The packages with CUDA code of which nothing runs on a visible GPU, each with the first such GPU.

    Those whose code runs, but not the module for this GPU, which the build left out, are there with its name. Names of
    files show that, whether or not their code could be counted.
    """
    gpus, found = visible_gpus(on.facts), []
    libraries = {package.name: package.libraries for package in packages_of(on.python)}
    for code in (*known(on.python.code), *_not_counted(on.python)):
        archs = known_or(code.archs, ())
        for gpu in gpus if archs or has_modules(code.package) else ():
            own = known(gpu.capability)
            module = module_missing(code.package, libraries.get(code.package, ()), own) if own else None
            runs = own is None or not archs or covers(archs, own)
            if module or not runs:
                found.append((code, gpu, module if module and runs else ""))
                break
    return found


def _not_counted(python: Python) -> Iterator[PackageCode]:
    """The packages with modules for generations of GPUs of which nobody could count the code."""
    counted = {code.package for code in known(python.code)}
    for one in packages_of(python):
        if one.name not in counted and has_modules(one.name):
            yield PackageCode(package=one.name, version=one.version, path="", archs=Unknown("it was not counted"))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    code, gpu, module = _found(on)[0]
    return (with_module if module else for_capability)(on, code, present(gpu.capability))


@check(
    title="A package has no code for this GPU's compute capability (no kernel image is available)",
    severity=Severity.WARNING,
    cause="GPU code runs only within the major compute capability that it was compiled for. A package that was "
    "compiled on another machine or for the list in TORCH_CUDA_ARCH_LIST, or a wheel that is older than this GPU, has "
    "none for it, or lacks the module that it uses on this generation: 'no kernel image is available for execution on "
    "the device', or the package's own message that a kernel is not available. pip keeps what it compiled once, and "
    "installs that again.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility",
        "https://github.com/thu-ml/SageAttention/issues/173",
        "https://github.com/Dao-AILab/flash-attention/issues/1638",
        "https://github.com/ostris/ai-toolkit/issues/475",
        "https://docs.pytorch.org/docs/stable/cpp_extension.html",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.code?",),
    caused_by=("python.*", "pytorch.arch-missing", "packages.gpu-too-old", "packages.gpu-unknown"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def arch_missing(on: OnPython) -> Problem | None:
    """All code in all libraries of a package is for other architectures."""
    found = _found(on)
    if not found:
        return None
    code, gpu, module = found[0]
    archs, capability = known_or(code.archs, ()), present(gpu.capability)
    name, built = f"{code.package} {code.version}", f": it was compiled for {' '.join(archs)}" if archs else ""
    lacks = f"was built without {module}, its module for" if module else "has no kernels for"
    what = built if module else f": {words(archs, capability)}"
    message = f"{name}{and_more(found)} {lacks} {gpu_words(gpu)}{what}."
    lines = tuple(
        f"{one.package} {one.version}: {' '.join(had)}" for one, *_ in found[:4] if (had := known_or(one.archs, ()))
    )
    others = (own for each in visible_gpus(on.facts) if (own := known(each.capability)) and own != capability)
    libraries = next((p.libraries for p in packages_of(on.python) if p.name == code.package), ())
    works = any(
        (not archs or covers(archs, own)) and not module_missing(code.package, libraries, own) for own in others
    )
    return Problem(message, lines, severity=Severity.ADVICE if works else None)
