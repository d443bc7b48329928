"""An environment made again, or a part of it, by the installer that manages it."""

import subprocess
import venv
from pathlib import Path

import pytest

from gpudoctor.facts import CondaPackage
from gpudoctor.fixes import recreate
from gpudoctor.fixes.python import conda_again
from gpudoctor.setup.executor import argv_of
from gpudoctor.tasks.as_typed import shown
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


@pytest.mark.parametrize(("name", "option"), [("default", ""), ("gpu", " -e gpu")])
def test_pixi_is_told_which_environment(name: str, option: str) -> None:
    found = CondaPackage(name="libstdcxx", version="15.1.0", build="h_3")
    again = conda_again(python(manager="pixi", prefix=f"/w/.pixi/envs/{name}"), found)
    assert shown(again) == f"pixi reinstall --manifest-path /w{option} libstdcxx"
