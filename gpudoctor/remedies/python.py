"""Fixes inside a Python environment, by whoever installs packages there: uv, pip, conda, pixi or poetry."""

import shlex
from collections.abc import Sequence

from gpudoctor.facts import Facts, Framework, Gpu, Python
from gpudoctor.judge import Fix
from gpudoctor.knowledge import torch
from gpudoctor.maybe import Unknown
from gpudoctor.subjects import compute_gpus


def manager_of(python: Python) -> str:
    """Who installs packages there; pip where it is unknown, because it is everywhere."""
    return "pip" if isinstance(python.manager, Unknown) else python.manager


def quote(spec: str) -> str:
    """A requirement as the shell takes it: brackets, < and > are quoted."""
    return shlex.quote(spec) if not spec.replace("=", "").replace("-", "").replace(".", "").isalnum() else spec


def install(
    python: Python,
    *specs: str,
    index: str | None = None,
    upgrade: bool = False,
    force: bool = False,
    no_deps: bool = False,
    options: Sequence[str] = (),
) -> str:
    """The command that installs packages of the Python package index into this environment.

    Args:
        python: the environment.
        specs: requirements, "torch==2.7.1".
        index: the address of another package index, as --index-url.
        upgrade: take a newer version although one is there.
        force: install again although it is there.
        no_deps: leave dependencies alone.
        options: further options of pip.
    """
    words = " ".join(quote(s) for s in specs)
    flags = [f"--index-url {index}" if index else "", "--no-deps" if no_deps else "", *options]
    manager = manager_of(python)
    if manager == "uv":
        flags = ["--upgrade" if upgrade else "", "--reinstall" if force else "", *flags]
        return _join(f"uv pip install --python {shlex.quote(python.path)}", *flags, words)
    flags = ["--upgrade" if upgrade else "", "--force-reinstall" if force else "", *flags]
    return _join(f"{_pip(python)} install", *flags, words)


def uninstall(python: Python, *names: str) -> str:
    """The command that removes packages."""
    words = " ".join(names)
    if manager_of(python) == "uv":
        return f"uv pip uninstall --python {shlex.quote(python.path)} {words}"
    return f"{_pip(python)} uninstall -y {words}"


def _pip(python: Python) -> str:
    return f"{shlex.quote(python.path)} -m pip"


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)


def conda_install(python: Python, *specs: str, channel: str = "conda-forge") -> str:
    """The command that installs conda packages into this environment, by conda or pixi."""
    words = " ".join(quote(s) for s in specs)
    if manager_of(python) == "pixi":
        return f"pixi add {words}"
    prefix = "" if isinstance(python.prefix, Unknown) else f" -p {shlex.quote(python.prefix)}"
    return f"conda install{prefix} -c {channel} {words}"


def python_minor(python: Python) -> str | None:
    """Major and minor of the interpreter's version, such as "3.11"; None where it is unknown."""
    return None if isinstance(python.version, Unknown) else ".".join(python.version.split(".")[:2])


def torch_choice(facts: Facts, python: Python, gpu: Gpu | None = None) -> torch.TorchChoice | None:
    """The newest PyTorch wheel that has code for the GPU, runs on the driver and exists for the Python.

    Without a GPU the first one of the machine decides. None where no wheel fits.
    """
    gpu = gpu or next(iter(compute_gpus(facts, "nvidia") or compute_gpus(facts, "amd")), None)
    if gpu is None:
        return None
    if gpu.vendor == "amd":
        return torch.rocm_wheel_for(gpu.gfx, python_minor(python)) if isinstance(gpu.gfx, str) else None
    if not isinstance(gpu.capability, str):
        return None
    machine = facts.host.architecture if isinstance(facts.host.architecture, str) else "x86_64"
    return torch.wheel_for(gpu.capability, driver_cuda(facts), python_minor(python), machine)


def driver_cuda(facts: Facts) -> str | None:
    """The newest CUDA release that the driver runs, as the driver says; None where it does not answer."""
    for version in (facts.nvidia.cuda.version, facts.nvidia.nvml.cuda_version):
        if isinstance(version, str):
            return version
    return None


def reinstall_torch(
    facts: Facts, python: Python, framework: Framework | None = None, gpu: Gpu | None = None
) -> tuple[Fix, ...]:
    """Install the PyTorch build that fits this GPU, driver and Python; empty where none does.

    torchvision and torchaudio are compiled against one torch: those that are installed come along.
    """
    choice = torch_choice(facts, python, gpu)
    if choice is None:
        return ()
    names = ["torch", *(n for n in ("torchvision", "torchaudio") if has(python, n))]
    verify = f"{shlex.quote(python.path)} -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'"
    manager = manager_of(python)
    fixes = []
    if manager in ("conda", "pixi"):
        fixes.append(
            Fix(
                "Install conda-forge's GPU build of PyTorch.",
                (conda_install(python, "pytorch-gpu"),),
                "reinstall-package",
                verify=verify,
            )
        )
    commands = (uninstall(python, *names), install(python, *names, index=choice.index))
    says = f"Install the {choice.variant} build of PyTorch, which fits this GPU, driver and Python."
    fixes.append(Fix(says, commands, "reinstall-package", verify=verify))
    return tuple(reversed(fixes)) if manager in ("conda", "pixi") and framework is None else tuple(fixes)


def has(python: Python, name: str) -> bool:
    """Whether a distribution is known to be installed."""
    return version_of(python, name) is not None


def version_of(python: Python, name: str) -> str | None:
    """The installed version of a distribution; None where it is not installed or unknown. For texts only."""
    if isinstance(python.packages, Unknown):
        return None
    return next((p.version for p in python.packages if p.name == name), None)
