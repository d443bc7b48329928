"""Fixes that give an extension and PyTorch builds for each other, where a release of both exists."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Framework, Package, Python
from gpudoctor.fixes.bounds import clash, is_required
from gpudoctor.fixes.python import another_build, install, lasting, uninstall
from gpudoctor.fixes.torch_build import driver_cuda, has_wheel_here
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge import torch as torch_table
from gpudoctor.knowledge.cuda_extensions import StableExtension, on_torch_index, stable_extension
from gpudoctor.knowledge.python_rules import companion_for
from gpudoctor.maybe import text_of
from gpudoctor.queries.extensions import COMPANIONS, built_for
from gpudoctor.queries.packages import is_own_build, numbers, packages_of, release
from gpudoctor.targets import OnLive, OnPython
from gpudoctor.tasks import Task, Tasks, export


def stable(
    on: OnPython,
    package: Package,
    torch: Framework,
    row: StableExtension,
    verify: Task | None,
    back: tuple[Fix, ...] | None = None,
) -> tuple[Fix, ...]:
    """Fit an extension whose builds serve every later PyTorch: its build for this CUDA, or the PyTorch of its build.

    That PyTorch is first where there is a build for another minor release of this CUDA only: it was tested with it.

    Args:
        on: the environment.
        package: the extension.
        torch: the installed PyTorch.
        row: the builds of the extension.
        verify: the command that verifies each fix.
        back: what installs the PyTorch that it was built for; None: its record names that.
    """
    other = the_other_torch(on, package.name, torch, verify) if back is None else back
    fitting = _its_build(on, package, torch, row, verify)
    exact = row.build_for(_variant(torch)) == _variant(torch)
    ways = (*fitting, *other) if exact else (*other, *fitting)
    return (*ways, *_without_it(on, package.name, row))


def _its_build(
    on: OnPython, package: Package, torch: Framework, row: StableExtension, verify: Task | None
) -> tuple[Fix, ...]:
    """Install the build of an extension for this CUDA; empty: there is none, or it is the one that is here."""
    build = row.build_for(_variant(torch))
    if build is None or _is_build(package, row, build):
        return ()
    of_pypi = build == row.pypi and is_of_pypi(on.python, torch)
    index = None if of_pypi else torch_table.index_of(build)
    commands = another_build(on.python, f"{package.name}>={row.since}", index=index)
    place = ", from PyTorch's index for it"
    if build != row.pypi:
        place += f": PyPI has only the one for {_spoken(row.pypi)}"
    message = (
        f"Install the build of {package.name} for {_spoken(build)}{'' if of_pypi else place}. It serves PyTorch "
        f"{row.torch} and all later ones, so that PyTorch {release(text_of(torch.version))} stays."
    )
    return (Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=verify),)


def _is_build(package: Package, row: StableExtension, build: str) -> bool:
    """Whether the installed release is one that serves later ones, for the CUDA of a build: another is no better."""
    cuda = built_for(package)[1]
    ours = torch_table.cuda_variant(cuda) if cuda else row.pypi  # whose wheels have no local version
    return numbers(package.version) >= numbers(row.since) and ours[:-1] == build[:-1]


def _variant(torch: Framework) -> str:
    """PyTorch's build, as its indexes name it: "cu132", "rocm7.2"; "" where it is unknown."""
    version, cuda = text_of(torch.version), text_of(torch.cuda)
    return version.partition("+")[2] or (torch_table.cuda_variant(cuda) if cuda.count(".") == 1 else "")


def _spoken(variant: str) -> str:
    cuda = torch_table.cuda_of_variant(variant)
    return f"CUDA {cuda}" if cuda else variant.replace("rocm", "ROCm ")


def is_of_pypi(python: Python, torch: Framework) -> bool:
    """Whether PyTorch is the build that PyPI has: PyPI's metadata have no local version (PEP 440)."""
    row = torch_table.release(text_of(torch.version))
    there = next((p.version for p in packages_of(python) if p.name == "torch"), text_of(torch.version))
    return "+" not in there and row is not None and row.default == _variant(torch)


def _without_it(on: OnPython, name: str, row: StableExtension) -> tuple[Fix, ...]:
    """Remove an extension that programs use only where it is there; empty: an installed package needs it."""
    if is_required(on.python, name):
        return ()
    message = f"Remove {name}, where your programs use it only if it is there: they then take {row.instead}."
    return (Fix(f"{message}{lasting(on.facts)}", (uninstall(on.python, name),), "reinstall-package"),)


def the_other_torch(on: OnPython, name: str, torch: Framework, verify: Task | None) -> tuple[Fix, ...]:
    """Install the PyTorch that an extension was built for, where its version or its record names that.

    Empty: it is there, its wheel does not support this Python, driver or GPU, or another package needs another one.
    """
    package = next((p for p in packages_of(on.python) if p.name == name), None)
    wanted, cuda = built_for(package) if package else (None, None)
    if wanted is None or cuda is None:
        return ()
    row, variant = torch_table.release(wanted), torch_table.cuda_variant(cuda)
    there = torch_table.release(text_of(torch.version))
    if row is None or variant not in row.wheels or (row, variant) == (there, _cuda_variant(torch)):
        return ()
    spec, others = f"torch=={wanted}.*", companions_of(on.python, wanted)
    changed = (name, *(other.partition("==")[0] for other in others))
    if not _driver_runs(on, variant) or not has_wheel_here(on.facts, on.python, wanted, variant):
        return ()
    if clash(on.python, spec, but=changed):
        return ()
    index = torch_table.index_of(variant)
    commands: Tasks = (install(on.python, spec, *others, index=None if variant == row.default else index),)
    if row is there:  # its other build has the same number
        commands = another_build(on.python, spec, *others, index=index)
    more = ", and what belongs to it" if others else ""
    message = f"Install the PyTorch that {name} was built for, {wanted} for CUDA {cuda}{more}.{lasting(on.facts)}"
    return (Fix(message, commands, "reinstall-package", verify=verify),)


def ended(on: OnPython, name: str, last: str, verify: Task | None) -> tuple[Fix, ...]:
    """The ways with an extension that gets no more releases: the last PyTorch that it has a build for, or without it.

    Args:
        on: the environment.
        name: the extension.
        last: that PyTorch, "2.3".
        verify: the command that verifies a fix.
    """
    row, others, found = torch_table.release(last), companions_of(on.python, last), []
    changed = (name, *(other.partition("==")[0] for other in others))
    runs = row and _driver_runs(on, row.default) and has_wheel_here(on.facts, on.python, last, row.default)
    if runs and not clash(on.python, f"torch=={last}.*", but=changed):
        message = (
            f"{name} gets no more releases. Install the last PyTorch that it was built for, {last}, best in an "
            f"environment of its own.{lasting(on.facts)}"
        )
        tasks = (install(on.python, f"torch=={last}.*", *others),)
        found = [Fix(message, tasks, "reinstall-package", verify=verify)]
    if not is_required(on.python, name):
        message = f"Remove {name}, which gets no more releases, and replace what your programs use of it."
        found.append(Fix(f"{message}{lasting(on.facts)}", (uninstall(on.python, name),), "reinstall-package"))
    return tuple(found)


def without_backend(on: OnLive | OnPython, name: str) -> tuple[Fix, ...]:
    """Take away an extension that PyTorch loads by itself when it starts, or have PyTorch not do that."""
    proof = framework_proof(on.python, "torch")
    gone = f"Remove {name}, which PyTorch loads at each start: it is for other devices than this machine's GPU."
    off = "Keep it, and have PyTorch not load extensions by itself."
    return (
        Fix(f"{gone}{lasting(on.facts)}", (uninstall(on.python, name),), "reinstall-package", verify=proof),
        Fix(off, (export("TORCH_DEVICE_BACKEND_AUTOLOAD", "0"),), "change-environment", verify=proof),
    )


def _cuda_variant(torch: Framework) -> str:
    return torch_table.cuda_variant(text_of(torch.cuda))


def _driver_runs(on: OnPython, variant: str) -> bool:
    driver = driver_cuda(on.facts)
    return driver is not None and torch_table.driver_runs(variant, driver)


def companions_of(python: Python, wanted: str) -> tuple[str, ...]:
    """The installed torchvision and torchaudio in the releases for a PyTorch, "2.9.1" or any of "2.9"."""
    names = {p.name for p in packages_of(python)}
    found = ((other, companion_for(other, wanted)) for other in COMPANIONS if other in names)
    return tuple(f"{other}{spec}" for other, spec in found if spec)


def pinned(
    on: OnPython, package: Package, wanted: str, torch: Framework | None, verify: Task | None
) -> tuple[Fix, ...]:
    """The ways to match an extension whose metadata pins one PyTorch, and the installed PyTorch.

    First the one that leaves PyTorch, and so what else needs it: pip goes back through the extension's releases until
    one requires this PyTorch. It would stop at the first sdist that it cannot build, so it takes wheels only.
    """
    python, name = on.python, package.name
    there = release(text_of(torch.version)) or wanted if torch else wanted
    public = there[:1].isdigit() and not is_own_build(there)
    row = stable_extension(name, there) if public else None
    back = tuple(_the_pinned(on, package, wanted, there, verify))
    if torch and row:
        # Its newest release takes this PyTorch, and is on PyPI for one CUDA alone: from there it may not load either.
        return stable(on, package, torch, row, verify, back)
    message = f"Upgrade {name}, with the PyTorch that it requires.{lasting(on.facts)}"
    newer = Fix(message, (install(python, name, upgrade=True),), "reinstall-package", verify=verify)
    if there == wanted or not public:
        return (*back, newer)
    installed = next((p.version for p in packages_of(python) if p.name == "torch"), "")
    index = torch_table.index_of_build(installed) if on_torch_index(name) else None
    command = install(python, name, f"torch=={there}", index=index, options=("--only-binary", name))
    message = f"Install the {name} release for PyTorch {there}, which stays as it is."
    first = Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=verify)
    return (first, *back, newer)


def _the_pinned(on: OnPython, package: Package, wanted: str, there: str, verify: Task | None) -> Iterator[Fix]:
    """Install the PyTorch that an extension pins, where it has a wheel here and no other package needs another one."""
    row, driver = torch_table.release(wanted), driver_cuda(on.facts)
    if row and (
        not has_wheel_here(on.facts, on.python, wanted)
        or (driver is not None and not torch_table.driver_runs(row.default, driver))
    ):
        return
    others = companions_of(on.python, wanted)
    if clash(on.python, f"torch=={wanted}", but=(package.name, *(other.partition("==")[0] for other in others))):
        return
    more = ", and what belongs to it" if others else ""
    message = f"Install the PyTorch that {package.name} {package.version} was built for{more}.{lasting(on.facts)}"
    specs = (f"torch=={wanted}", *others, f"{package.name}=={release(package.version)}")
    command = install(on.python, *specs, force=there == wanted)
    yield Fix(message, (command,), "reinstall-package", verify=verify)
