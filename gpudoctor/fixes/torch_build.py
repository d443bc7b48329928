"""Another build of PyTorch for this machine: which one, and the fixes that install it."""

from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import CondaPackage, Facts, Framework, Gpu, Python
from gpudoctor.fixes import jetson
from gpudoctor.fixes.pip import before_others, only, twice
from gpudoctor.fixes.python import (
    NEW,
    REMOVE_NEW,
    another_build,
    conda_install,
    conda_of,
    from_distribution,
    has,
    install,
    lasting,
    manager_of,
    manifest_of,
    new_environment,
    pixi,
    prefix_of,
    project_of,
    uv_index,
)
from gpudoctor.knowledge import torch
from gpudoctor.knowledge.kernels import coverage
from gpudoctor.knowledge.python_rules import companion_for
from gpudoctor.maybe import known_or, present, text_of
from gpudoctor.queries import driver
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.gpus import nvidia_gpus, torch_gfx
from gpudoctor.queries.packages import is_own_build, numbers, python_minor, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import compute_gpus
from gpudoctor.tasks import Command, Edit, FileSection, Tasks, cmd, lines, query

TORCH_FAMILY = ("torch", "torchvision", "torchaudio")  # released together, each compiled against one PyTorch


def torch_choice(facts: Facts, python: Python, gpu: Gpu | None = None) -> torch.TorchChoice | None:
    """The newest PyTorch wheel that has code for the GPU, runs on the driver and exists for the Python.

    Without a GPU the first one of the machine decides. None where no wheel fits.
    """
    return _choice(facts, _first(facts, gpu), python_minor(python))


def _same_release(
    facts: Facts, python: Python, framework: Framework, gpu: Gpu | None
) -> tuple[torch.TorchChoice, tuple[str, ...]] | None:
    """The build for this machine of the PyTorch release that is installed, and what is installed for it.

    None where it has no such build, or none that is known.
    """
    version = text_of(framework.version)
    if not version[:1].isdigit() or is_own_build(version):
        return None
    number = release(version)
    choice = _choice(facts, _first(facts, gpu), python_minor(python), number)
    others = torch_family(python)[1:]
    specs = [f"{name}{spec}" for name in others if (spec := companion_for(name, number))]
    if choice is None or choice.variant == _variant(framework) or len(specs) < len(others):
        return None
    # The label keeps a build of that release from anywhere else out; Arm's torchvision and torchaudio have none.
    label = f"+{choice.variant}" if facts.host.architecture == "x86_64" else ""
    return choice, tuple(spec if spec.endswith("*") else f"{spec}{label}" for spec in (f"torch=={number}", *specs))


def _first(facts: Facts, gpu: Gpu | None) -> Gpu | None:
    return gpu or next(iter(compute_gpus(facts, "nvidia") or compute_gpus(facts, "amd")), None)


def _variant(framework: Framework) -> str | None:
    """As PyTorch's indexes name the build that is installed: "cu126"; None where that is no build for CUDA."""
    return torch.cuda_variant(framework.cuda) if isinstance(framework.cuda, str) else None


def _choice(facts: Facts, gpu: Gpu | None, minor: str | None, number: str | None = None) -> torch.TorchChoice | None:
    if gpu is None:
        return None
    if gpu.vendor == "amd":
        gfx = torch_gfx(gpu.gfx) if isinstance(gpu.gfx, str) else None
        return torch.rocm_wheel_for(gfx, minor, number) if gfx else None
    if not isinstance(gpu.capability, str):
        return None
    machine = facts.host.architecture if isinstance(facts.host.architecture, str) else "x86_64"
    return torch.wheel_for(gpu.capability, driver_cuda(facts), minor, machine, number)


def driver_cuda(facts: Facts) -> str | None:
    """The newest CUDA release that the driver runs; None where that is unknown."""
    return known_or(driver.driver_cuda(facts), None)


def has_wheel_here(facts: Facts, python: Python, number: str, variant: str | None = None) -> bool:
    """Whether a build of a PyTorch release has a wheel for this Python, and code for each NVIDIA GPU here.

    Args:
        facts: the machine.
        python: the environment.
        number: the release, "2.5" or "2.5.1".
        variant: "cu124"; None: the build that PyPI has.
    """
    found = torch.release(number)
    if found is None or not torch.fits_python(found, python_minor(python)):
        return False
    machine = known_or(facts.host.architecture, "x86_64")
    targets = torch.targets_of(number, variant or found.default, machine)
    capabilities = {text_of(gpu.capability) for gpu in nvidia_gpus(facts)} - {""}
    return not targets or all(coverage(targets, capability) for capability in capabilities)


def reinstall_torch(
    facts: Facts, python: Python, framework: Framework | None = None, gpu: Gpu | None = None, *, keep: bool = False
) -> tuple[Fix, ...]:
    """Install the PyTorch build for this GPU, driver and Python; empty where there is none.

    torchvision and torchaudio are compiled against one torch: those that are installed come along.

    Args:
        facts: the machine.
        python: the environment.
        framework: the PyTorch that is replaced.
        gpu: the GPU that it has to run on; None: the first of the machine.
        keep: whether another build of the installed release will do, with which goes what was chosen for it.
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
    name = "PyTorch"
    if keep and framework and (same := _same_release(facts, python, framework, gpu)):
        choice, names = same
        name = f"PyTorch {release(text_of(framework.version))}"
    # pip's --extra-index-url would let a newer wheel of another build win: so the index is the only one
    commands = another_build(python, *names, index=choice.index)
    if all("+" in name for name in names) or (framework is None and not has(python, "torch")):
        commands = (install(python, *names, index=choice.index),)
    fits = f"which supports {_fits(facts, choice)}.{twice(commands)}{lasting(facts)}"
    message = f"Install the {choice.variant} build of {name}, {fits}"
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


def _with_another_python(facts: Facts, python: Python, choice: torch.TorchChoice, names: Sequence[str]) -> Fix:
    """A wheel supports GPU and driver, but none of those was built for this Python version."""
    minor = torch.python_for(choice.version)
    message = (
        f"Create an environment with Python {minor}: PyTorch has no wheel for this GPU and driver for Python "
        f"{present(python_minor(python))}; with Python {minor} the {choice.variant} build of PyTorch {choice.version} "
        f"works.{lasting(facts)}"
    )
    # uv fills it, and how uv is configured is not known where pip fills the environment of now
    arguments = (*before_others(choice.index), f"torch=={choice.version}.*", *names[1:])
    commands = new_environment(python, minor, *arguments)
    return Fix(message, commands, "reinstall-package", undo=(REMOVE_NEW,), verify=_computes(f"{NEW}/bin/python"))


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


def torch_since(facts: Facts, python: Python, release: str) -> tuple[Fix, ...]:
    """Install the PyTorch build for this GPU, driver and Python where it is of a release or newer; else nothing."""
    choice = torch_choice(facts, python)
    if choice is None or numbers(choice.version) < numbers(release)[:2]:
        return ()
    return reinstall_torch(facts, python, one_of(python, "torch"))


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
