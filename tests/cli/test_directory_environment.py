"""The environment of the working directory is examined by itself, unless it belongs to somebody else."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import library
from gpudoctor.probes.python.project_env import ABOVE, FOUND
from tests.cli import gpudoctor
from tests.probes.environments import distribution, venv


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose .venv holds a framework, by its files."""
    distribution(venv(tmp_path / ".venv"), "torch", "2.7.1", ("torch/__init__.py", "torch/version.py"))
    (tmp_path / "src").mkdir()
    return tmp_path


def examined(*words: str, cwd: Path) -> dict[str, Any]:
    ran = gpudoctor("check", "--quick", "--json", *words, cwd=cwd)
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.parametrize(("folder", "why"), [(".", FOUND), ("src", ABOVE)])
def test_it_is_examined(folder: str, why: str, project: Path) -> None:
    reported = examined(cwd=project / folder)
    assert reported["python"]["path"] == f"{project}/.venv/bin/python"
    assert reported["python"]["found_by"] == why
    assert [f["version"] for f in reported["frameworks"]] == ["2.7.1"]


def test_the_head_names_it_as_the_user_does(project: Path) -> None:
    head = " ".join(gpudoctor("check", "--quick", cwd=project).out.split())
    assert "Python ./.venv (3" in head
    assert "found in this directory; --python names another)" in head


def test_the_library_and_the_plan_take_it_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)  # PWD still names the folder of the tests
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert library.gather(quick=True).pythons[0].path == f"{project}/.venv/bin/python"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_that_of_another_user_is_not_run(project: Path) -> None:
    os.lchown(project / ".venv/bin/python", 12345, 12345)
    reported = examined(cwd=project)
    assert reported["python"]["path"] != f"{project}/.venv/bin/python"
    (finding,) = (f for f in reported["findings"] if f["check"] == "python.environment-not-run")
    assert f"{project}/.venv, which has PyTorch, belongs to user 12345, so its Python was not run" in finding["message"]
    assert finding["fixes"][0]["commands"] == [f"gpudoctor check --python {project}/.venv"]
