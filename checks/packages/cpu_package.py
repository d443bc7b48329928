"""The distribution of a package that has no code for GPUs, on a machine with an NVIDIA GPU."""

from fnmatch import fnmatchcase

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.python_rules import CpuDistribution, python_rules
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.frameworks import uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus, visible_gpus
from gpudoctor.queries.packages import major, package, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, gpu_name, pythons


def _found(on: OnPython) -> tuple[CpuDistribution, Package] | None:
    """The first such distribution whose build for GPUs is not installed."""
    for row in python_rules().cpu:
        owner = package(on.python, row.name)
        if owner and not package(on.python, row.gpu):
            return row, owner
    return None


def _companion(on: OnPython, row: CpuDistribution) -> str:
    """A package that was installed to compute on the GPU together with it; "" where there is none."""
    names = (p.name for p in packages_of(on.python))
    return next((name for name in names if any(fnmatchcase(name, each) for each in row.companions)), "")


def _for_these_gpus(on: OnPython, row: CpuDistribution) -> str | None:
    """The index with the build for GPUs that the usual one has no kernels for."""
    capabilities = [version(known_or(gpu.capability, None) or "0") for gpu in visible_gpus(on.facts)]
    newer = (c for c in python_rules().ceiling if c.package == row.gpu and c.index)
    return next((c.index for c in newer if any(one > version(c.capability) for one in capabilities)), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    row, _ = found
    index = _for_these_gpus(on, row) or row.index_for(major(text_of(driver_cuda(on.facts))))
    origin = f" from {row.title}'s own index" if index else ""
    message = f"Replace it with {row.gpu}{origin}, if you want to use the GPU.{lasting(on.facts)}"
    tasks = (uninstall(on.python, row.name), install(on.python, row.gpu, index=index))
    return (Fix(message, tasks, "reinstall-package", verify=verify(on.python, row.proof)),)


@check(
    title="A package is the CPU-only distribution on a machine with a GPU",
    severity=Severity.ADVICE,
    cause="Some packages have a distribution without CUDA and one with it, under different names. Others that require "
    "them often name the one without, or neither.",
    fixes=_fixes,
    references=(
        "https://www.paddlepaddle.org.cn/en/install/quick",
        "https://xgboost.readthedocs.io/en/latest/install.html",
        "https://pypi.org/project/faiss-gpu-cu12/",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.packages?",),
    caused_by=("packages.builds-overwrite",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
    aliases=("packages.paddle-cpu",),
)
def cpu_package(on: OnPython) -> Problem | None:
    """Only the distribution without CUDA, where nothing else uses the GPU, or a companion is to use it as well."""
    known(on.python.packages)
    gpus = nvidia_gpus(on.facts)
    found = _found(on) if gpus else None
    if found is None:
        return None
    row, owner = found
    companion = _companion(on, row)
    message = f"{row.name} {owner.version} has no CUDA support, so {gpu_name(gpus[0])} is not used"
    if companion:
        message = f"{row.name} {owner.version} has no CUDA support, but {companion} next to it is for the GPU"
        return Problem(f"{message}.", severity=Severity.WARNING)
    if any(uses_gpu(f) for f in on.python.frameworks):
        return None
    alone = row.framework and not on.python.frameworks
    return Problem(f"{message}.", severity=Severity.WARNING if alone else None)
