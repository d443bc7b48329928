"""numba-cuda without libNVVM."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.bounds import clash
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import conda_install, conda_of, install, lasting
from gpudoctor.fixes.toolkit import toolkit
from gpudoctor.knowledge.toolkits import toolkits
from gpudoctor.knowledge.wheels import wheels
from gpudoctor.maybe import known_or
from gpudoctor.queries.build_toolkit import has_nvvm
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import cuda_major
from gpudoctor.queries.loading import failures
from gpudoctor.queries.packages import major, numbers, package
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import Task


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    number = cuda_major(on.facts, on.python)
    proof = verify(on.python, "from numba import cuda; print(cuda.to_device([1.0]) is not None, cuda.is_available())")
    if conda_of(on.python):
        command = conda_install(on.python, "cuda-nvvm", "cuda-nvrtc", f"cuda-version={number}")
        message = "Install the CUDA compiler (NVVM) into this conda environment."
        return (Fix(message, (command,), "reinstall-package", verify=proof),)
    there = package(on.python, "numba-cuda")
    if there and numbers(there.version) < numbers(wheels().numba_cuda.extras):
        return _without_extras(on, number, proof)
    message = (
        f"Install numba-cuda with its extra for CUDA {number}, which includes the compiler and "
        f"libraries.{lasting(on.facts)}"
    )
    return (Fix(message, (install(on.python, f"numba-cuda[cu{number}]"),), "reinstall-package", verify=proof),)


def _without_extras(on: OnPython, cuda: int, proof: Task) -> tuple[Fix, ...]:
    """Upgrade to a release that has the extras; where another package refuses it, install a toolkit.

    Earlier ones look for libNVVM's name with a version (numba/misc/findlib.py), which the wheels' has not.
    """
    spec = f"numba-cuda[cu{cuda}]>={wheels().numba_cuda.extras}"
    newer = Fix(
        f"Upgrade numba-cuda, with its extra for CUDA {cuda}, which includes the compiler: this release has no extra."
        f"{lasting(on.facts)}",
        (install(on.python, spec),),
        "reinstall-package",
        verify=proof,
    )
    if not clash(on.python, spec.replace(f"[cu{cuda}]", "")):
        return (newer,)
    ours = known_or(driver_cuda(on.facts), None) or ""
    newest = [one for one in toolkits().toolkit.releases if major(one) == cuda][-1]
    other = toolkit(on.facts, on.python, ours if major(ours) == cuda else newest)
    why = "An installed package refuses newer releases of numba-cuda, which find the compiler in wheels."
    return (msgspec.structs.replace(other, message=f"{other.message} {why}", verify=proof), newer)


@check(
    title="libNVVM is missing: numba-cuda cannot compile kernels",
    severity=Severity.ERROR,
    cause="Numba compiles kernels with CUDA's libNVVM and libdevice, which neither the driver nor `pip install "
    "numba-cuda` installs ('NvvmSupportError'); its extra cu12 or cu13, a conda package or the CUDA Toolkit does.",
    fixes=_fixes,
    references=(
        "https://nvidia.github.io/numba-cuda/user/installation.html",
        "https://github.com/numba/numba/issues/7006",
    ),
    targets=pythons,
    only_with=("pythons.packages.name=numba-cuda",),
    caused_by=(*CUDA_SYSTEM, "python.*", "cuda.home-stale", "packages.part-missing"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def nvvm_missing(on: OnPython) -> Problem | None:
    """numba-cuda without a wheel, a conda package or a toolkit that has NVVM."""
    found = package(on.python, "numba-cuda")
    if found is None or not nvidia_gpus(on.facts) or has_nvvm(on.facts, on.python):
        return None
    message = f"numba-cuda {found.version} is installed, but CUDA's compiler library libNVVM was not found."
    # An import that fails was seen to fail, and comes first: only a program that compiles kernels notices this one.
    severity = Severity.WARNING if failures(on.python) else None
    return Problem(message, severity=severity, breaks=("numba-cuda",), words=("libnvvm", "NvvmSupportError", "libNVVM"))
