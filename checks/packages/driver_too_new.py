"""Releases of packages that do not work with a driver as new as this one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import conda_install, conda_of, install, lasting
from gpudoctor.knowledge.release_families import NewerDriver, release_families
from gpudoctor.maybe import known, phrase
from gpudoctor.parsers.metadata import is_optional
from gpudoctor.queries.build_toolkit import has_nvvm
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.frameworks import uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import numbers, package, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import export


def _rows(on: OnPython) -> list[tuple[NewerDriver, Package]]:
    """The packages of an affected release, of which nothing else takes the place."""
    found = []
    for row in release_families().newer_driver:
        owner = package(on.python, row.package)
        if owner is None or not numbers(row.since) <= numbers(owner.version) < numbers(row.before):
            continue
        away = any(package(on.python, name) for name in row.replaced_by)
        if not away and not any(on.facts.host.environment.get(name) == value for name, value in row.off.items()):
            found.append((row, owner))
    return found


def _is_meant(on: OnPython, row: NewerDriver) -> bool:
    """Whether what fails is likely to be used: a package asks for it, or nothing else here uses a GPU or needs it."""
    if row.asked_by:
        return any(package(on.python, name) for name in row.asked_by)
    spared = any(package(on.python, name) for name in row.spared_by)
    return not spared and not any(map(uses_gpu, on.python.frameworks))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    row, owner = _rows(on)[0]
    message = f"Upgrade {row.package} to {row.before} or newer.{lasting(on.facts)}"
    end = f",<{int(numbers(row.before)[0]) + 1}" if numbers(row.before)[0] else ""  # a new major removes what is used
    spec = f"{row.package}>={row.before}{end}"
    by_conda = any(one.name == row.package for one in conda_of(on.python))
    task = conda_install(on.python, spec) if by_conda else install(on.python, spec)
    code = "from numba import cuda; print(cuda.to_device([1.0]).copy_to_host())"
    proof = verify(on.python, code) if package(on.python, "numba") else None
    newer = Fix(message, (task,), "reinstall-package", verify=proof)
    fixes = [newer]
    if owner.name == "numba":
        message = f"Install numba-cuda, NVIDIA's continuation of its CUDA target, with its compiler.{lasting(on.facts)}"
        task = install(on.python, "numba-cuda[cu12]")  # what it compiles runs on each driver as new as this row's
        # Without the compiler an upgraded numba cannot compile for the GPU either.
        place = len(fixes) if by_conda or has_nvvm(on.facts, on.python) else 0
        fixes.insert(place, Fix(message, (task,), "reinstall-package", verify=proof))
    if row.off and (package(on.python, "cuda-bindings") or package(on.python, "cuda-python")):
        tasks = tuple(export(name, value) for name, value in row.off.items())
        message = "Without an upgrade: let it use NVIDIA's bindings, which are installed, before Python starts."
        fixes.insert(0 if _is_pinned(on, row) else len(fixes), Fix(message, tasks, "change-environment", verify=proof))
    return tuple(fixes)


def _is_pinned(on: OnPython, row: NewerDriver) -> bool:
    """Whether an installed package refuses the release that works."""
    lines = (line.replace(" ", "") for p in packages_of(on.python) for line in p.requires if not is_optional(line))
    return any(line.startswith(f"{row.package}") and "<" in line for line in lines)


@check(
    title="A package does not work with a driver as new as this one",
    severity=Severity.WARNING,
    cause="A driver runs programs of older CUDA releases, so a newer one breaks few. These call it in a way that a "
    "newer CUDA ended, or accept only the releases that they know.",
    fixes=_fixes,
    references=(
        "https://numba.readthedocs.io/en/stable/release/0.63.0-notes.html",
        "https://github.com/numba/numba/issues/10188",
        "https://github.com/NVIDIA/numba-cuda/issues/369",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.packages.name={names(row.package for row in release_families().newer_driver)}",),
    caused_by=(*CUDA_SYSTEM, "python.*"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def driver_too_new(on: OnPython) -> Problem | None:
    """An affected release with a driver of such a CUDA; advice where it may well be used for the CPU alone."""
    known(on.python.packages)
    found = _rows(on) if nvidia_gpus(on.facts) else []
    if not found:
        return None
    row, owner = found[0]
    if numbers(known(driver_cuda(on.facts)) or "0") < numbers(row.cuda):
        return None
    driver = phrase(" {}", on.facts.nvidia.kernel.loaded)
    cuda = phrase(" (CUDA {})", driver_cuda(on.facts))
    message = f"{owner.name} {owner.version} {row.effect}: the driver{driver}{cuda} is newer than it works with."
    return Problem(message, severity=None if _is_meant(on, row) else Severity.ADVICE)
