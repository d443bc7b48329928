"""PyTorch comes from its own index, whatever further ones the user's configuration names."""

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpudoctor.facts import Package
from gpudoctor.fixes.python import another_build, install
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.tasks.as_typed import shown, typed
from tests.builders import framework, python, with_framework

INDEX = "https://download.pytorch.org/whl/cu126"


def test_pip_asks_one_index_alone() -> None:
    conf = python(extra_index="/etc/pip.conf")
    first, rest = another_build(conf, "torch", index=INDEX)
    for command in first, rest:
        assert shown(command).startswith(f"PIP_EXTRA_INDEX_URL={INDEX} /opt/env/bin/python -m pip install ")
        assert shown(command).endswith(f"--index-url {INDEX} torch")
    for none in python(), python(extra_index=None):
        assert not any("EXTRA" in line for line in typed(another_build(none, "torch", index=INDEX)))
    assert shown(install(conf, "numpy")) == "/opt/env/bin/python -m pip install numpy"


def test_so_does_a_new_environment() -> None:
    debians = Package(name="torch", version="2.6.0", directory="/usr/lib/python3/dist-packages")
    facts = with_framework(framework(), packages=(debians,), extra_index="/etc/pip.conf")
    (fix,) = reinstall_torch(facts, facts.pythons[0])
    assert fix.commands[1].startswith("PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cu1")
    assert "the extra index of /etc/pip.conf" in fix.message


def test_uv_asks_one_index_first() -> None:
    command = install(python(manager="uv", extra_index="UV_INDEX"), "torch", index=INDEX)
    assert shown(command) == (f"uv pip install --python /opt/env/bin/python --index {INDEX} --index-url {INDEX} torch")


def _wheel(index: Path, version: str) -> None:
    folder, info = index / "torch", f"torch-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    (folder / "index.html").write_text(f'<a href="{name.replace("+", "%2B")}">{name}</a>')


@pytest.mark.skipif(find_spec("pip") is None, reason="no pip in this environment")
@pytest.mark.parametrize(("configured", "version"), [(None, "2.10.0"), ("pip.conf", "2.9.1+cu126")])
def test_what_pip_takes(configured: str | None, version: str, tmp_path: Path) -> None:
    _wheel(tmp_path / "own", "2.9.1+cu126")
    _wheel(tmp_path / "extra", "2.10.0")
    conf = tmp_path / "pip.conf"
    conf.write_text(f"[global]\nextra-index-url = {(tmp_path / 'extra').as_uri()}\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    own = (tmp_path / "own").as_uri()
    command = install(python(path=sys.executable, extra_index=configured), "torch", index=own, force=True)
    argv = (*command.argv, "--dry-run")
    ended = subprocess.run(
        argv, env=env | {"PIP_CONFIG_FILE": str(conf)} | dict(command.env), capture_output=True, text=True, check=True
    )
    assert f"Would install torch-{version}" in ended.stdout
