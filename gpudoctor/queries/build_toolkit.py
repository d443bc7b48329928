"""Whether the CUDA Toolkit that builds would take is taken by anything, from facts alone."""

from gpudoctor.facts import Facts, Python
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.packages import compiling, wheels

# Where somebody chose it; the fallback /usr/local/cuda may serve nothing.
_CHOSEN = ("CUDA_HOME", "CUDA_PATH", "nvcc on PATH")
_REFUSING = ("deepspeed", "gsplat")  # they compile by torch.utils.cpp_extension, which wants PyTorch's CUDA major
_NVVM_OF_CONDA = ("cudatoolkit", "cuda-nvvm", "cuda-nvcc", "cuda-nvvm-impl", "cuda-toolkit", "cuda-nvvm-tools")


def is_taken(facts: Facts) -> bool:
    """Whether somebody named the toolkit, or a package compiles with it whenever it runs, and looks there by itself.

    Raises:
        UnknownFactError: a package does so for some GPUs, and of none it is known whether it is one of them.
    """
    return facts.toolkits.home.found_by in _CHOSEN or any(_always(facts, python) for python in facts.pythons)


def is_taken_for_extensions(facts: Facts, python: Python) -> bool:
    """The same for what PyTorch's own build tools compile in an environment."""
    taken = facts.toolkits.home.found_by in _CHOSEN
    return taken or any(name in _REFUSING for name in _always(facts, python))


def _always(facts: Facts, python: Python) -> list[str]:
    """The packages of an environment that compile whenever they run."""
    names, always = compiling(facts, python) if uses_gpu(one_of(python, "torch")) else ([], False)
    return names if always else []


def has_nvvm(facts: Facts, python: Python) -> bool:
    """Whether CUDA's compiler library libNVVM is there: of a wheel, a conda package or a toolkit.

    Raises:
        UnknownFactError: it is not known which toolkits are installed.
    """
    installed = any(wheels(python, name) for name in ("cuda-nvcc", "nvvm", "cuda-nvvm"))
    if installed or any(c.name.startswith(_NVVM_OF_CONDA) for c in known_or(python.conda, None) or ()):
        return True
    if known(facts.toolkits.installed):
        return True
    home = facts.toolkits.home
    return bool(known(facts.toolkits.nvccs)) or (home.path is not None and known(home.exists))
