"""The jobs of continuous integration, held against the published schemas, and their lines run."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from tests.examples import EXAMPLES, ILL, calls, stand_in

SCHEMAS = {
    "github-actions.yml": ["vendor.github-workflows", "custom.github-workflows-require-timeout"],
    "gitlab-ci.yml": ["vendor.gitlab-ci"],
}


def held(file: Path, schema: str) -> subprocess.CompletedProcess[str]:
    """What check-jsonschema says of a file; its schemas come with it, so nothing is fetched."""
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    argv += ["--data-transform", "gitlab-ci"] if schema == "vendor.gitlab-ci" else []
    return subprocess.run([*argv, str(file)], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("name", "schema"), [(name, one) for name, several in SCHEMAS.items() for one in several])
def test_it_is_as_its_schema_says(name: str, schema: str, tmp_path: Path) -> None:
    file = EXAMPLES / "ci" / name
    ended = held(file, schema)
    assert ended.returncode == 0, ended.stdout
    bad = tmp_path / name
    bad.write_text(file.read_text().replace("timeout", "time-out").replace("script:", "scripts:"))
    assert held(bad, schema).returncode == 1


def read(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / "ci" / name).read_text())


def test_gitlab_shows_what_gpudoctor_writes(tmp_path: Path) -> None:
    job = read("gitlab-ci.yml")["gpu"]
    (words,) = calls(job["script"][-1])
    words = [word for word in words if word not in ("--python", ".venv")]  # not beside recorded facts
    ended = subprocess.run([stand_in(tmp_path, ILL), *words], cwd=tmp_path, capture_output=True, timeout=60)
    assert ended.returncode == 1, "the job fails"
    assert JUnitXml.fromfile(str(tmp_path / job["artifacts"]["reports"]["junit"])).failures == 1
    assert job["artifacts"]["when"] == "always", "else a failed job shows nothing"


def test_github_shows_what_gpudoctor_writes(tmp_path: Path) -> None:
    steps = read("github-actions.yml")["jobs"]["gpu"]["steps"]
    (words,) = calls(steps[-1]["run"])
    words = [word for word in words if word not in ("--python", ".venv")]
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    argv = [str(stand_in(tmp_path, ILL)), *words]
    ended = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stdout.startswith("::error ")
    assert "driver.library-mismatch" in (tmp_path / "summary.md").read_text()
