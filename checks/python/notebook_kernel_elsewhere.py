"""A notebook's kernel that runs a Python without the framework."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import NotebookKernel
from gpudoctor.fixes.notebook_kernels import register
from gpudoctor.lazy_regex import pattern
from gpudoctor.targets import NAMES, OnPython, pythons

# A kernel that names itself after GPUs, or a framework: other projects' kernels are nobody's mistake.
_GPU = pattern(r"(?i)gpu|cuda|rocm")
_WORDS = {"torch": "torch", "tensorflow": r"tensorflow|\btf\b", "jax": r"\bjax", "cupy": "cupy"}


def _astray(on: OnPython) -> list[NotebookKernel]:
    """The kernels that take the place of this environment's, or are named after what it has and theirs has not."""
    own = {one.name for one in on.python.frameworks}
    return sorted((k for k in on.python.notebook_kernels if _is_meant(k, own)), key=lambda kernel: not kernel.exists)


def _is_meant(kernel: NotebookKernel, own: set[str]) -> bool:
    """Whether a kernel is for what this environment has: by a framework's name, or where its Python has none."""
    name = f"{kernel.name} {kernel.title}"
    named = {one for one, words in _WORDS.items() if re.search(words, name, re.IGNORECASE)}
    if named:
        return bool(named & own) and not named & {*kernel.frameworks}
    return bool(own) and not kernel.frameworks and (kernel.name == "python3" or bool(_GPU.search(name)))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    return (register(on.python, _astray(on)[0]),)


@check(
    title="A Jupyter kernel runs another Python, without the framework",
    severity=Severity.ADVICE,
    cause="A notebook runs in the Python that its kernel's kernel.json names, not in the one that started Jupyter. The "
    "file keeps the path of the environment in which `ipykernel install` was run.",
    fixes=_fixes,
    references=(
        "https://ipython.readthedocs.io/en/stable/install/kernel_install.html",
        "https://jupyter-client.readthedocs.io/en/stable/kernels.html",
    ),
    targets=pythons,
    only_with=("pythons.notebook_kernels",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def notebook_kernel_elsewhere(on: OnPython) -> Problem | None:
    """A kernel named after a framework or GPUs, or the default one, whose interpreter has no framework or is gone."""
    found = _astray(on)
    if not found:
        return None
    kernel = found[0]
    names = " and ".join(NAMES.get(one.name, one.name) for one in on.python.frameworks[:3])
    why = f"which has no {names}; this Python has" if kernel.exists else f"which does not exist; {names} is in this one"
    message = f'The notebook kernel "{kernel.title or kernel.name}" ({kernel.name}) starts {kernel.python}, {why}.'
    return Problem(message, (f"{kernel.path}/kernel.json",))
