"""Jupyter's kernels that start another Python."""

import json
from typing import Any

from gpudoctor.facts import NotebookKernel
from gpudoctor.probes.python.notebook_kernels import probe
from gpudoctor.recorded_machine import RecordedMachine

ENV, OLD = "/opt/env", "/home/me/old"
USER = "/home/me/.local/share/jupyter/kernels"


def spec(python: str, title: str = "PyTorch (GPU)") -> str:
    return json.dumps({"argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": title})


def found(files: dict[str, str], **env: str) -> tuple[NotebookKernel, ...]:
    return probe(RecordedMachine(files, env={"HOME": "/home/me"} | env), ENV)


def test_another_environment_with_what_it_has() -> None:
    files: dict[str, Any] = {
        f"{USER}/pytorch/kernel.json": spec(f"{OLD}/bin/python"),
        f"{OLD}/bin/python": "",
        f"{OLD}/lib/python3.11/site-packages/jax/__init__.py": "",
    }
    kernel = NotebookKernel(
        name="pytorch",
        title="PyTorch (GPU)",
        path=f"{USER}/pytorch",
        python=f"{OLD}/bin/python",
        exists=True,
        frameworks=("jax",),
    )
    assert found(files) == (kernel,)


def test_one_that_is_gone() -> None:
    (kernel,) = found({f"{USER}/gpu/kernel.json": spec(f"{OLD}/bin/python")})
    assert (kernel.exists, kernel.frameworks) == (False, ())


def test_its_own_and_what_names_no_interpreter_are_none() -> None:
    files = {
        f"{ENV}/share/jupyter/kernels/python3/kernel.json": spec("python"),
        f"{USER}/own/kernel.json": spec(f"{ENV}/bin/python3"),
        f"{USER}/ir/kernel.json": spec("/usr/bin/R"),
        f"{USER}/broken/kernel.json": '{"argv": [',
        f"{USER}/empty/kernel.json": '{"argv": []}',
        f"{USER}/odd/kernel.json": '{"argv": "python"}',
    }
    assert found(files) == ()


def test_the_environments_own_comes_before_the_users() -> None:
    files = {
        f"{ENV}/share/jupyter/kernels/python3/kernel.json": spec("python"),
        f"{USER}/python3/kernel.json": spec(f"{OLD}/bin/python"),
    }
    assert found(files) == ()


def test_directories_that_variables_name() -> None:
    files = {
        "/data/kernels/a/kernel.json": spec(f"{OLD}/bin/python"),
        "/mine/kernels/b/kernel.json": spec(f"{OLD}/bin/python"),
    }
    assert [one.name for one in found(files, JUPYTER_PATH="/data", JUPYTER_DATA_DIR="/mine")] == ["a", "b"]
