"""The list of packages from which an environment is made again."""

import subprocess
import venv
from pathlib import Path

import pytest

from gpudoctor.fixes import recreate
from gpudoctor.setup.executor import argv_of
from tests.builders import python


def test_an_environment_that_cannot_list_its_packages_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "AI stuff"
    venv.create(old)  # without pip
    monkeypatch.setattr(recreate, "_LIST", str(tmp_path / "packages.txt"))
    listed, *_ = recreate.from_list(python(path=f"{old}/bin/python"), str(tmp_path / "new"))
    ended = subprocess.run(argv_of(listed, sudo=False), capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "No module named pip" in ended.stderr
