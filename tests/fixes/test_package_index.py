"""PyTorch comes from its own index, whatever further ones the user's configuration names."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from gpudoctor.facts import Package
from gpudoctor.fixes.python import another_build, install
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.setup.reachability import dry_run
from gpudoctor.tasks import Command
from gpudoctor.tasks.as_typed import shown, typed
from tests.builders import framework, python, with_framework

INDEX = "https://download.pytorch.org/whl/cu126"
PATH = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
FIRST = "--index {index} --index-url {index} --index-strategy first-index"


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
    assert shown(command) == f"uv pip install --python /opt/env/bin/python {FIRST.format(index=INDEX)} torch"


@pytest.mark.parametrize("manager", ["pip", "uv"])
@pytest.mark.parametrize("configured", [None, "/etc/pip.conf"])
def test_so_does_an_environment_with_another_python(manager: str, configured: str | None) -> None:
    facts = with_framework(framework(), version="3.16.0", manager=manager, extra_index=configured)
    (fix,) = reinstall_torch(facts, facts.pythons[0])
    assert f" --python ~/gpu-env {FIRST.format(index=INDEX)} 'torch==" in fix.commands[-1]


def _wheel(index: Path, version: str) -> None:
    folder, info = index / "torch", f"torch-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    (folder / "index.html").write_text(f'<a href="{name.replace("+", "%2B")}">{name}</a>')


def _said(words: Sequence[str], **variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    ended = subprocess.run(words, env=env | {"PATH": PATH} | variables, capture_output=True, text=True, check=True)
    return ended.stdout + ended.stderr


@pytest.mark.skipif(find_spec("pip") is None, reason="no pip in this environment")
@pytest.mark.parametrize(("configured", "version"), [(None, "2.10.0"), ("pip.conf", "2.9.1+cu126")])
def test_what_pip_takes_and_what_it_is_asked_before(configured: str | None, version: str, tmp_path: Path) -> None:
    _wheel(tmp_path / "own", "2.9.1+cu126")
    _wheel(tmp_path / "extra", "2.10.0")
    conf = tmp_path / "pip.conf"
    conf.write_text(f"[global]\nextra-index-url = {(tmp_path / 'extra').as_uri()}\n")
    own, mine = (tmp_path / "own").as_uri(), python(path=sys.executable, extra_index=configured)
    command = install(mine, "torch", index=own, force=True)
    changed = [task.packages for task in another_build(mine, "torch", index=own) if isinstance(task, Command)]
    asked = [one.resolve for one in (command.packages, *changed) if one and one.resolve]
    tried = dry_run(command, sys.executable)
    assert tried[tried.index("install") + 1 : tried.index("--dry-run")] == ("--retries", "0", "--ignore-installed")
    ways = [(*command.argv, "--dry-run"), *asked, tried]
    assert len(ways) == 4
    for words in ways:
        variables = dict(command.env) if words is ways[0] else {}
        assert f"Would install torch-{version}" in _said(words, PIP_CONFIG_FILE=str(conf), **variables)


@pytest.mark.skipif(which("uv", path=PATH) is None, reason="no uv on this machine")
@pytest.mark.parametrize(("configured", "version"), [(None, "2.10.0"), ("uv.toml", "2.9.1+cu126")])
def test_what_uv_takes_and_what_it_is_asked_before(configured: str | None, version: str, tmp_path: Path) -> None:
    _wheel(tmp_path / "own", "2.9.1+cu126")
    _wheel(tmp_path / "extra", "2.10.0")
    mine = python(path=sys.executable, manager="uv", extra_index=configured)
    command = install(mine, "torch", index=(tmp_path / "own").as_uri(), force=True)
    conf = tmp_path / "uv.toml"
    extra = (tmp_path / "extra").as_uri()
    conf.write_text(f'index-strategy = "unsafe-best-match"\n[[index]]\nname = "extra"\nurl = "{extra}"\n')
    for words in (*command.argv, "--dry-run"), dry_run(command, sys.executable):
        assert f"+ torch=={version}" in _said(words, UV_CONFIG_FILE=str(conf), UV_CACHE_DIR=str(tmp_path / "cache"))
