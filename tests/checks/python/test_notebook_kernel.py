"""A notebook's kernel that runs a Python without the framework."""

import pytest

from gpudoctor.checks.python.notebook_kernel_elsewhere import notebook_kernel_elsewhere
from gpudoctor.facts import Facts, NotebookKernel
from tests.checks.environments import commands, environment, one, package, torch

OLD = "/home/me/old/bin/python"
USER = "/home/me/.local/share/jupyter/kernels"


def having(name: str = "pytorch", title: str = "PyTorch (GPU)", **changes: object) -> Facts:
    made = {"python": OLD, "exists": True, "path": f"{USER}/{name}"} | changes
    kernel = NotebookKernel(name=name, title=title, **made)  # type: ignore[arg-type]
    return environment(torch(), packages=(package("ipykernel", "6.29"),), notebook_kernels=(kernel,))


def test_one_that_names_itself_after_what_it_lacks() -> None:
    assert one(notebook_kernel_elsewhere, having()) == (
        "problem",
        f'The notebook kernel "PyTorch (GPU)" (pytorch) starts {OLD}, which has no PyTorch; this Python has.',
    )
    typed = commands(notebook_kernel_elsewhere, having())
    assert "/opt/env/bin/python -m ipykernel install --user --name pytorch --display-name 'PyTorch (GPU)'" in typed


def test_one_that_is_gone() -> None:
    assert "which does not exist; PyTorch is in this one" in one(notebook_kernel_elsewhere, having(exists=False))[1]


def test_the_environments_own_is_replaced_there() -> None:
    facts = having(path="/opt/env/share/jupyter/kernels/python3", name="python3")
    assert "ipykernel install --sys-prefix --name python3" in commands(notebook_kernel_elsewhere, facts)


@pytest.mark.parametrize(
    "facts",
    [
        having(frameworks=("torch",)),
        having("statistics", "Statistics"),
        having("jax", "JAX", frameworks=("jax",)),
        having("gpu", "GPU", frameworks=("tensorflow",)),
        environment(torch()),
        environment(notebook_kernels=(NotebookKernel(name="gpu", title="GPU", path="/x", python=OLD),)),
    ],
)
def test_what_is_no_mistake(facts: Facts) -> None:
    assert one(notebook_kernel_elsewhere, facts) == ("pass", "")
