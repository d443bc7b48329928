"""The module amdsmi opens a libamd_smi.so that does not fit the ROCm that PyTorch loads."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LiveFramework, Package
from gpudoctor.fixes import amd_smi
from gpudoctor.knowledge.rocm import rocm
from gpudoctor.maybe import known_or, phrases
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnFramework, OnPython, has_amd, torches

_LIBRARY = "libamd_smi.so"


def _breaks_import(live: LiveFramework | None) -> bool:
    """Whether the module's error ends PyTorch's import, which expects no other than that it is not installed.

    An ImportError is the loader's, about a library that PyTorch itself needs.
    """
    error = live.import_error if live else None
    return error is not None and _LIBRARY in error and not error.startswith("ImportError")


def _is_beside_wheels(on: OnFramework, found: Package) -> bool:
    """Whether it is PyPI's, which does not look for the library of ROCm's wheels, and those are there."""
    core = package(on.python, amd_smi.SDK)
    blind = numbers(found.version) <= numbers(rocm().amdsmi["newest"])
    return core is not None and blind and has_amd(on.facts)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return amd_smi.without(OnPython(on.facts, on.python))


@check(
    title="The package amdsmi does not fit the ROCm that PyTorch loads",
    severity=Severity.WARNING,
    cause="In a build for ROCm, import torch imports amdsmi where it is installed, and torch.cuda.device_count() asks "
    "it. PyPI's opens the libamd_smi.so of the system's ROCm. Next to ROCm's wheels, whose copy PyTorch loads, the "
    "symbols of the two mix and amdsmi lists no GPU, so device_count() is 0 and cuda:0 an 'Invalid device id'. A "
    "library that is missing, or older than the module, ends the import of torch: 'undefined symbol: amdsmi_...'.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/186516",
        "https://github.com/ROCm/legacy-rocm-build/issues/6340",
        "https://github.com/ROCm/rocm-systems/issues/7643",
        "https://github.com/RLinf/RLinf/pull/1507",
    ),
    targets=torches,
    only_with=("pythons.packages.name=amdsmi",),
    caused_by=("python.shadowed-module", "libraries.shadowed-by-path"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def amdsmi_mismatch(on: OnFramework) -> Problem | None:
    """It is PyPI's next to ROCm's wheels, or PyTorch shows what it breaks: a count of 0, or an import that fails."""
    found = package(on.python, amd_smi.NAME) if on.framework.variant == "rocm" else None
    if found is None:
        return None
    live, name = on.framework.live, f"{found.name} {found.version}"
    if _breaks_import(live):
        message = f"import torch fails in {name}, which does not fit the {_LIBRARY} that it finds."
        return Problem(message, phrases((live.import_error if live else "") or ""), severity=Severity.ERROR)
    beside = _is_beside_wheels(on, found)
    if live is None:
        after = " PyTorch was not imported, so whether it counts the GPUs is not known."
        return Problem(_message(on, name) + after) if beside else None
    count, available = known_or(live.count, None), known_or(live.available, None)
    if count == 0 and available is True:
        what = _message(on, name) if beside else f"{on.name} asks {name} for the number of GPUs."
        return Problem(f"{what} It counts 0, although HIP reports a GPU.", severity=Severity.ERROR)
    if not beside or count != 0:
        return None
    return Problem(f"{_message(on, name)} PyTorch counts 0 GPUs.")


def _message(on: OnFramework, name: str) -> str:
    core = package(on.python, amd_smi.SDK)
    own = f"{core.name} {core.version}" if core else "ROCm's wheels"
    return f"{name} opens a second {_LIBRARY} next to the one of {own}, which {on.name} loads."
