"""bitsandbytes without a binary for PyTorch's CUDA or ROCm release."""

import re

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, lasting
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnFramework, torches
from gpudoctor.tasks import export, query, unset

# Since 0.50 the nearest binary of the same major is loaded, and ROCm 7.14 is "714":
# https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1980
_NEAREST_SINCE = (0, 50)
_NAMES = {"cuda": "CUDA", "rocm": "ROCm"}


class _Release(msgspec.Struct, frozen=True):
    """What PyTorch is built for: "cuda" or "rocm", with its numbers."""

    build: str
    major: int
    minor: int


def _release(on: OnFramework) -> _Release | None:
    """Of the build of PyTorch, where a GPU of that vendor is here."""
    for build, release, gpus in (("cuda", on.framework.cuda, nvidia_gpus), ("rocm", on.framework.hip, amd_gpus)):
        text = known(release)
        if text and text.count(".") and gpus(on.facts):
            return _Release(build, *numbers(text)[:2])
    return None


def _binaries(found: Package, build: str) -> dict[tuple[int, int], str]:
    """Its binaries for CUDA or ROCm by their release, oldest first: "128" is of 12.8, "72" of 7.2."""
    names = (re.fullmatch(rf"libbitsandbytes_{build}(\d{{2,}})\.so", name) for name in found.libraries)
    at = 2 if build == "cuda" else 1
    return dict(sorted(((int(m[1][:at]), int(m[1][at:] or 0)), m[1]) for m in names if m))


def _wanted(found: Package, of: _Release) -> str:
    """The number in the name of the library that it looks for."""
    if of.build == "rocm" and numbers(found.version) < _NEAREST_SINCE:
        return str(of.major * 10 + of.minor)
    return f"{of.major}{of.minor}"


def _same_major(found: Package, of: _Release) -> dict[tuple[int, int], str]:
    return {release: digits for release, digits in _binaries(found, of.build).items() if release[0] == of.major}


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found, of = package(on.python, "bitsandbytes"), _release(on)
    if found is None or of is None:
        return ()
    verify = query(on.python.path, "-m", "bitsandbytes")
    command = install(on.python, "bitsandbytes", upgrade=True)
    message = (
        f"Upgrade bitsandbytes: newer releases have binaries for newer {_NAMES[of.build]} releases, and from 0.50 on "
        f"it loads the nearest one of the same major version.{lasting(on.facts)}"
    )
    fixes = [Fix(message, (command,), "reinstall-package", verify=verify)]
    same = _same_major(found, of)
    if same and of.build == "cuda":  # BNB_ROCM_VERSION came with 0.50, which does without
        major, minor = min(same, key=lambda release: abs(release[1] - of.minor))
        message = f"Make it load its binary for CUDA {major}.{minor}, which has the same major version."
        variable = export("BNB_CUDA_VERSION", same[major, minor])
        fixes.append(Fix(message, (variable,), "change-environment", undo=(unset("BNB_CUDA_VERSION"),), verify=verify))
    return tuple(fixes)


@check(
    title="bitsandbytes has no binary for PyTorch's CUDA or ROCm release",
    severity=Severity.ERROR,
    cause="bitsandbytes ships one library per CUDA and ROCm release (libbitsandbytes_cudaNNN.so, "
    "libbitsandbytes_rocmNN.so). Before 0.50 it loads only the one for PyTorch's release, later any of the same major; "
    "this version has none. PyPI's wheels contain none for ROCm before 0.49. Its error 'compiled without GPU support' "
    "is misleading.",
    fixes=_fixes,
    references=(
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1688",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1848",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/2014",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1955",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1980",
        "https://huggingface.co/docs/bitsandbytes/installation",
    ),
    targets=torches,
    only_with=("pythons.packages.name=bitsandbytes",),
    caused_by=("python.*", "pytorch.*"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def bitsandbytes_no_binary(on: OnFramework) -> Problem | None:
    """None of its binaries is for PyTorch's release, nor, where it takes the nearest, for its major."""
    found = package(on.python, "bitsandbytes")
    of = _release(on) if found else None
    if found is None or of is None:
        return None
    there, wanted = tuple(_binaries(found, of.build).values()), _wanted(found, of)
    if not there and of.build == "rocm" and _binaries(found, "cuda"):  # PyPI's wheels have some since 0.49
        release = f"ROCm {of.major}.{of.minor} of {on.name}"
        return Problem(f"bitsandbytes {found.version} has binaries for CUDA alone, and none for {release}.")
    nearest = numbers(found.version) >= _NEAREST_SINCE and _same_major(found, of)
    # Where the variable names another binary, environment.selected-library-missing judges that one.
    selected = on.facts.host.environment.get(f"BNB_{of.build.upper()}_VERSION")
    if not there or wanted in there or nearest or selected:
        return None
    release = f"{_NAMES[of.build]} {of.major}.{of.minor}"
    message = f"bitsandbytes {found.version} has no libbitsandbytes_{of.build}{wanted}.so for {release} "
    simple = wanted == f"{of.major}{of.minor}"
    how = "" if simple else " (before 0.50 it calculates the number as major * 10 + minor)"
    return Problem(f"{message}of {on.name}{how}; it has binaries for {', '.join(there)}.")
