"""Fixes inside a Python environment, with the installer that manages it: uv, pip, conda, pixi or poetry."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import CondaPackage, Facts, Framework, Gpu, Python
from gpudoctor.fixes import jetson
from gpudoctor.fixes.pip import Installer, only, pip, replace, twice
from gpudoctor.knowledge import torch
from gpudoctor.maybe import Unknown, known_or, present
from gpudoctor.queries import driver
from gpudoctor.queries.gpus import torch_gfx
from gpudoctor.queries.packages import packages_of, python_minor
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import compute_gpus, in_container
from gpudoctor.tasks import Command, Edit, FileSection, Tasks, cmd, lines, query

NEW = "~/gpu-env"  # an environment that a fix creates
REMOVE_NEW = cmd("rm", "-r", NEW)
TORCH_FAMILY = ("torch", "torchvision", "torchaudio")  # released together, each compiled against one PyTorch


def manager_of(python: Python) -> str:
    """The installer of this environment; pip where it is unknown, because it is everywhere."""
    return "pip" if isinstance(python.manager, Unknown) else python.manager


def install(
    python: Python,
    *specs: str,
    index: str | None = None,
    upgrade: bool = False,
    force: bool = False,
    no_deps: bool = False,
    options: Sequence[str] = (),
) -> Command:
    """The command that installs packages from PyPI into this environment.

    Args:
        python: the environment.
        specs: requirements, "torch==2.7.1".
        index: the address of another package index, as --index-url.
        upgrade: take a newer version although one is there.
        force: install again although it is there.
        no_deps: leave dependencies alone.
        options: further options of pip, each word for itself.
    """
    source, env, note = only(_installer(python), index, known_or(python.extra_index, None))
    flags = [*source, *(("--no-deps",) if no_deps else ()), *options]
    manager = manager_of(python)
    if not (force or flags) and (into := _into_project(python)):
        return cmd(*into, *(_newer(manager, specs) if upgrade else specs), person=not _is_found(python))
    newer = ("--upgrade",) if upgrade else ()
    again = () if not force else ("--reinstall",) if manager == "uv" else ("--force-reinstall",)
    words = (*_permission(python), *newer, *again, *flags, *specs)
    return pip(_installer(python), python.path, "install", *words, env=env, note=note)


def project_of(python: Python) -> str | None:
    """The directory of the project of uv or poetry whose lock file decides what is installed here; None: none."""
    return python.project if manager_of(python) in ("uv", "poetry") and isinstance(python.project, str) else None


def _into_project(python: Python) -> tuple[str, ...]:
    """The arguments that add packages to a project's own file; none where there is none."""
    manager = manager_of(python)
    if manager == "pixi":
        return ("pixi", "add", *manifest_of(python), "--pypi")
    if (project := project_of(python)) is None:
        return ()
    return ("uv", "add", "--project", project) if manager == "uv" else ("poetry", "--directory", project, "add")


def manifest_of(python: Python) -> tuple[str, ...]:
    """The arguments that select pixi's workspace; none where that is not known."""
    prefix = python.prefix if isinstance(python.prefix, str) else ""
    place = python.project if isinstance(python.project, str) else prefix.partition("/.pixi/")[0]
    return ("--manifest-path", place) if place and (place == python.project or "/.pixi/" in prefix) else ()


def pixi(python: Python, *arguments: str) -> Command:
    """A command of pixi's, which otherwise looks for the workspace in the working directory."""
    verb, *rest = arguments
    place = manifest_of(python)
    return cmd("pixi", verb, *place, *rest, person=not place)


def _is_found(python: Python) -> bool:
    """Whether the project is known by its path, so that its manager finds it from everywhere."""
    return manager_of(python) != "pixi" or bool(manifest_of(python))


def _newer(manager: str, specs: Sequence[str]) -> list[str]:
    """The arguments with which a project's manager takes a newer version than the locked one."""
    names = [re.match(r"[\w.-]*", spec)[0] for spec in specs]  # type: ignore[index]
    if manager == "uv":
        return [*(word for name in names for word in ("--upgrade-package", name)), *specs]
    if manager == "poetry":  # which skips an installed package without a constraint
        return [f"{s}@latest" if s == name else s for s, name in zip(specs, names, strict=True)]
    return list(specs)


def add(python: Python, *specs: str, upgrade: bool = False) -> tuple[Command, ...]:
    """The commands that install packages where they stay: in a project its own file decides.

    The next `uv sync` or `poetry sync` undoes what pip installs outside the lock file; pixi's environments have no
    pip of their own.
    """
    if into := _into_project(python):
        return (cmd(*into, *specs, person=not _is_found(python)),)
    return (install(python, *specs, upgrade=upgrade),)


def another_build(python: Python, *names: str, index: str | None) -> Tasks:
    """The commands that install these packages from an index, over those in this environment."""
    configured = known_or(python.extra_index, None)
    return replace(_installer(python), python.path, index, names, *_permission(python), configured=configured)


def uninstall(python: Python, *names: str) -> Command:
    """The command that removes packages."""
    sure = () if manager_of(python) == "uv" else ("-y",)
    return pip(_installer(python), python.path, "uninstall", *sure, *_permission(python), *names)


def _installer(python: Python) -> Installer:
    return "uv" if manager_of(python) == "uv" else "pip"


def _permission(python: Python) -> tuple[str, ...]:
    """The option without which pip and uv refuse to change a Python that the distribution manages (PEP 668).

    What is fixed there was installed by pip, and so by somebody who used this option or removed the marker file.
    """
    return ("--break-system-packages",) if python.externally_managed is True else ()


def conda_install(python: Python, *specs: str, channel: str | None = "conda-forge") -> Command:
    """The command that installs conda packages here, by conda or pixi; without a channel, from the user's own."""
    if manager_of(python) == "pixi":
        return pixi(python, "add", *specs)
    return cmd("conda", "install", *prefix_of(python), *(("-c", channel) if channel else ()), *specs)


def conda_again(python: Python, *packages: CondaPackage) -> Command:
    """The command that installs conda packages again in the same build, by conda or pixi."""
    if manager_of(python) == "pixi":
        return pixi(python, "reinstall", *(one.name for one in packages))
    builds = (f"{one.name}={one.version}={one.build}" for one in packages)
    return cmd("conda", "install", *prefix_of(python), "--force-reinstall", *builds)


def prefix_of(python: Python) -> tuple[str, ...]:
    """The arguments that select conda's environment."""
    return () if isinstance(python.prefix, Unknown) else ("-p", python.prefix)


def torch_choice(facts: Facts, python: Python, gpu: Gpu | None = None) -> torch.TorchChoice | None:
    """The newest PyTorch wheel that has code for the GPU, runs on the driver and exists for the Python.

    Without a GPU the first one of the machine decides. None where no wheel fits.
    """
    return _choice(facts, _first(facts, gpu), python_minor(python))


def _first(facts: Facts, gpu: Gpu | None) -> Gpu | None:
    return gpu or next(iter(compute_gpus(facts, "nvidia") or compute_gpus(facts, "amd")), None)


def _choice(facts: Facts, gpu: Gpu | None, minor: str | None) -> torch.TorchChoice | None:
    if gpu is None:
        return None
    if gpu.vendor == "amd":
        gfx = torch_gfx(gpu.gfx) if isinstance(gpu.gfx, str) else None
        return torch.rocm_wheel_for(gfx, minor) if gfx else None
    if not isinstance(gpu.capability, str):
        return None
    machine = facts.host.architecture if isinstance(facts.host.architecture, str) else "x86_64"
    return torch.wheel_for(gpu.capability, driver_cuda(facts), minor, machine)


def driver_cuda(facts: Facts) -> str | None:
    """The newest CUDA release that the driver runs; None where that is unknown."""
    return known_or(driver.driver_cuda(facts), None)


def reinstall_torch(
    facts: Facts, python: Python, framework: Framework | None = None, gpu: Gpu | None = None
) -> tuple[Fix, ...]:
    """Install the PyTorch build for this GPU, driver and Python; empty where there is none.

    torchvision and torchaudio are compiled against one torch: those that are installed come along.

    Args:
        facts: the machine.
        python: the environment.
        framework: the PyTorch that is replaced.
        gpu: the GPU that it has to run on; None: the first of the machine.
    """
    if jetson.is_jetson(facts):
        return (_jetson(facts, python),)
    choice, names = torch_choice(facts, python, gpu), torch_family(python)
    if choice is None:
        other = _choice(facts, _first(facts, gpu), None)
        return (_with_another_python(facts, python, other, names),) if other else ()
    if project_of(python):
        return (_project(facts, python, choice, names),)
    by_conda = [c for c in conda_of(python) if c.name in ("pytorch", "libtorch", "pytorch-mutex", "cpuonly")]
    if by_conda or manager_of(python) == "pixi":
        return (_by_conda(python, choice, by_conda),)
    if from_distribution(python, names):
        return (_own_environment(facts, python, choice, names),)
    # pip's --extra-index-url would let a newer wheel of another build win: so the index is the only one
    commands = another_build(python, *names, index=choice.index)
    if framework is None and not has(python, "torch"):
        commands = (install(python, *names, index=choice.index),)
    fits = f"which supports {_fits(facts, choice)}.{twice(commands)}{lasting(facts)}"
    message = f"Install the {choice.variant} build of PyTorch, {fits}"
    return (Fix(message, commands, "reinstall-package", undo=_undo(python, framework), verify=torch_verify(python)),)


def torch_family(python: Python) -> tuple[str, ...]:
    """PyTorch and those installed packages that are compiled against exactly one release of it."""
    first, *others = TORCH_FAMILY
    return (first, *(name for name in others if has(python, name)))


def torch_verify(python: Python) -> Command:
    """The command that runs a kernel: is_available() is True for a build without code for the GPU too."""
    return _computes(python.path)


def _computes(interpreter: str) -> Command:
    return query(interpreter, "-c", BY_MODULE["torch"].proof)


def lasting(facts: Facts) -> str:
    """How to keep the change in a container, or in a project with a lock file."""
    if in_container(facts):
        return " Add it to the image's Dockerfile too, or it is lost with this container."
    locked = [p for p in facts.pythons if project_of(p)]
    if len(facts.pythons) != 1 or not locked:
        return ""
    again = "`uv sync` or `uv run`" if manager_of(locked[0]) == "uv" else "`poetry sync`"
    return f" Add it to {present(locked[0].project)}/pyproject.toml too, or the next {again} will undo it."


def conda_of(python: Python) -> tuple[CondaPackage, ...]:
    """The packages that conda installed; none where that is unknown."""
    return () if isinstance(python.conda, Unknown) or python.conda is None else python.conda


def _fits(facts: Facts, choice: torch.TorchChoice) -> str:
    if choice.variant.startswith("rocm"):
        return "the AMD GPU and this Python"
    driver = driver_cuda(facts)
    return "this GPU, this Python and " + (f"the driver (CUDA {driver})" if driver else "a current driver")


def _undo(python: Python, framework: Framework | None) -> Tasks:
    """The previous version, where the usual index has it; `gpudoctor fix --undo` knows the others' indexes."""
    version = framework.version if framework else None
    return (install(python, f"torch=={version}"),) if isinstance(version, str) and "+" not in version else ()


def _project(facts: Facts, python: Python, choice: torch.TorchChoice, names: Sequence[str]) -> Fix:
    """A project's lock file decides: the next `uv sync` or `uv run` undoes other installations."""
    name, directory = f"pytorch-{choice.variant}", present(python.project)
    if manager_of(python) == "poetry":
        poetry = ("poetry", "--directory", directory)
        tasks: Tasks = (
            cmd(*poetry, "source", "add", "--priority=explicit", name, choice.index),
            # `poetry add` skips packages that pyproject.toml already names without a constraint
            cmd(*poetry, "add", "--source", name, *(f"{n}@latest" for n in names)),
        )
        message = f"In {directory}, install PyTorch from the index of its {choice.variant} builds, {choice.index}."
        return Fix(message, tasks, "reinstall-package", verify=torch_verify(python))
    message = (
        f"In {directory}/pyproject.toml, pin {' and '.join(names)} to the index of PyTorch's {choice.variant} builds "
        "with the lines below, replacing any that name another source; then lock and sync again. (The next `uv sync` "
        f"or `uv run` would undo a plain `uv pip install`.) The build supports {_fits(facts, choice)}."
    )
    newer = [word for n in names for word in ("--upgrade-package", n)]
    steps = (
        uv_index(directory, name, choice.index, names),
        cmd("uv", "lock", "--project", directory, *newer),
        cmd("uv", "sync", "--project", directory),
    )
    return Fix(message, steps, "reinstall-package", verify=torch_verify(python))


def uv_index(directory: str, name: str, index: str, packages: Sequence[str]) -> Edit:
    """The lines of pyproject.toml: https://docs.astral.sh/uv/guides/integration/pytorch/#using-a-pytorch-index.

    Args:
        directory: the project's.
        name: what the index is called.
        index: its address.
        packages: what comes from it.
    """
    return Edit(
        f"{directory}/pyproject.toml",
        sections=(
            FileSection("[[tool.uv.index]]", (f'name = "{name}"', f'url = "{index}"', "explicit = true")),
            FileSection("[tool.uv.sources]", tuple(f'{package} = {{ index = "{name}" }}' for package in packages)),
        ),
    )


def _with_another_python(facts: Facts, python: Python, choice: torch.TorchChoice, names: Sequence[str]) -> Fix:
    """A wheel supports GPU and driver, but none of those was built for this Python version."""
    minor = torch.python_for(choice.version)
    message = (
        f"Create an environment with Python {minor}: PyTorch has no wheel for this GPU and driver for Python "
        f"{present(python_minor(python))}; with Python {minor} the {choice.variant} build of PyTorch {choice.version} "
        f"works.{lasting(facts)}"
    )
    arguments = ("--index-url", choice.index, f"torch=={choice.version}.*", *names[1:])
    commands = new_environment(python, minor, *arguments)
    return Fix(message, commands, "reinstall-package", undo=(REMOVE_NEW,), verify=_computes(f"{NEW}/bin/python"))


def new_environment(python: Python, minor: str, *arguments: str) -> tuple[Command, ...]:
    """The commands that create an environment with another Python version, which uv downloads, and fill it.

    Args:
        python: the environment with the current version.
        minor: the new version.
        arguments: what is installed, with pip's options.
    """
    uv = ("uv",) if manager_of(python) == "uv" else (python.path, "-m", "uv")
    first = () if manager_of(python) == "uv" else (install(python, "uv"),)
    return (
        *first,
        cmd(*uv, "venv", "--python", minor, NEW),
        cmd(*uv, "pip", "install", "--python", NEW, *arguments),
    )


def from_distribution(python: Python, names: Sequence[str]) -> bool:
    """Whether the distribution's package manager installed PyTorch: pip can then neither remove nor replace it."""
    return any(p.name in names and p.directory.startswith("/usr/lib") for p in packages_of(python))


def _own_environment(facts: Facts, python: Python, choice: torch.TorchChoice, names: Sequence[str]) -> Fix:
    """The distribution's package is a CPU build, and belongs to the distribution."""
    message = (
        f"Create a virtual environment and install the {choice.variant} build of PyTorch there, which supports "
        f"{_fits(facts, choice)}; the distribution's own package stays as it is. (On Debian and Ubuntu venv is in the "
        f"package python3-venv.){lasting(facts)}"
    )
    source, env, note = only("pip", choice.index, known_or(python.extra_index, None))
    commands = (
        cmd(python.path, "-m", "venv", NEW),
        cmd(f"{NEW}/bin/python", "-m", "pip", "install", *source, *names, env=env, note=note),
    )
    return Fix(message, commands, "reinstall-package", undo=(REMOVE_NEW,), verify=_computes(f"{NEW}/bin/python"))


def _by_conda(python: Python, choice: torch.TorchChoice, there: Sequence[CondaPackage]) -> Fix:
    """conda-forge's metapackage pytorch-gpu excludes CPU builds; cpuonly and pytorch-mutex keep them installed."""
    cuda = (torch.cuda_of_variant(choice.variant) or "").partition(".")[0]
    if manager_of(python) == "pixi":
        return _by_pixi(python, cuda)
    specs = ["pytorch-gpu", *([f"cuda-version={cuda}"] if cuda else [])]
    keepers = sorted(c.name for c in there if c.name == "cpuonly" or (c.name == "pytorch-mutex" and c.build != "cuda"))
    commands = [cmd("conda", "remove", *prefix_of(python), *keepers)] if keepers else []
    commands.append(conda_install(python, *specs))
    message = "Install conda-forge's GPU build of PyTorch (pytorch-gpu)"
    message += f", after removing {' and '.join(keepers)}: they keep the CPU build installed." if keepers else "."
    return Fix(message, tuple(commands), "reinstall-package", verify=torch_verify(python))


def _by_pixi(python: Python, cuda: str) -> Fix:
    """Pixi solves for machines without CUDA unless its manifest states it, whatever this machine has.

    https://pixi.prefix.dev/latest/python/pytorch
    """
    requires = FileSection("[system-requirements]", (f'cuda = "{cuda or 12}"',))
    place = manifest_of(python)[1:]
    tasks = (
        Edit(f"{place[0]}/pixi.toml", sections=(requires,)) if place else lines(f"# in pixi.toml:\n{requires.text}"),
        pixi(python, "add", "pytorch-gpu"),
    )
    message = (
        "Declare with the lines below that this project's machines have CUDA; otherwise pixi selects "
        f'CPU builds (since pixi 0.71: platforms = [{{ platform = "linux-64", cuda = "{cuda or 12}.0" }}] under '
        "[workspace]); then install conda-forge's GPU build of PyTorch."
    )
    return Fix(message, tasks, "reinstall-package", verify=torch_verify(python))


def _jetson(facts: Facts, python: Python) -> Fix:
    found = jetson.wheels(facts)
    names = torch_family(python)
    commands = another_build(python, *names, index=found.index) if found and found.index else ()
    return jetson.install_wheels(facts, python, names, commands, torch_verify(python))


def has(python: Python, name: str) -> bool:
    """Whether a distribution is known to be installed."""
    return version_of(python, name) is not None


def version_of(python: Python, name: str) -> str | None:
    """The installed version of a distribution; None where it is not installed or unknown. For texts only."""
    return next((p.version for p in packages_of(python) if p.name == name), None)
