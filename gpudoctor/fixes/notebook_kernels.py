"""Jupyter's kernels: which Python a notebook runs in."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import NotebookKernel, Python
from gpudoctor.fixes.python import install
from gpudoctor.maybe import text_of
from gpudoctor.queries.packages import package
from gpudoctor.tasks import Tasks, cmd, query


def register(python: Python, kernel: NotebookKernel) -> Fix:
    """Make a kernel start an environment's own Python.

    Args:
        python: the environment.
        kernel: the kernel, which starts another one.
    """
    own, title = python.path, kernel.title or kernel.name
    # Jupyter takes the environment's own before the user's.
    where = "--sys-prefix" if kernel.path.startswith(f"{text_of(python.prefix)}/") else "--user"
    task = cmd(own, "-m", "ipykernel", "install", where, "--name", kernel.name, "--display-name", title)
    first: Tasks = () if package(python, "ipykernel") else (install(python, "ipykernel"),)
    return Fix(
        f"Register this Python as the kernel {kernel.name}; then restart the kernel in the notebook.",
        (*first, task),
        "change-environment",
        verify=query(own, "-m", "jupyter", "kernelspec", "list") if package(python, "jupyter-core") else None,
    )
