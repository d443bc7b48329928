"""The health check of `conda doctor`, as conda loads it: by its entry point, with pluggy, and without loading us."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pluggy
import pytest

import gpudoctor
from gpudoctor import check, demo
from gpudoctor.toml import tomllib
from tests.builders import nvidia_host
from tests.machines.registry import machines

STANDIN = """
import dataclasses, pluggy
spec, hookimpl = pluggy.HookspecMarker("conda"), pluggy.HookimplMarker("conda")
@dataclasses.dataclass
class {kind}:
    name: str
    action: object
class Specs:
    @spec
    def conda_health_checks(self): ...
"""
OF_ENVIRONMENT = "/opt/env"


class Conda(NamedTuple):
    """A stand-in of conda: its manager of plug-ins, and our module."""

    manager: pluggy.PluginManager
    plugin: Any


def _lay(folder: Path, kind: str) -> None:
    (folder / "conda" / "plugins").mkdir(parents=True)
    (folder / "conda" / "__init__.py").touch()
    (folder / "conda" / "plugins" / "types.py").write_text(STANDIN.format(kind=kind))
    (folder / "conda" / "plugins" / "__init__.py").write_text("from .types import Specs, hookimpl\n")


@pytest.fixture(params=["CondaHealthCheck", "CondaHealthChecks"])
def conda(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conda]:
    """As conda does it: load the module that the entry point names, and register it."""
    _lay(tmp_path, request.param)
    monkeypatch.syspath_prepend(str(tmp_path))
    project = tomllib.loads((Path(gpudoctor.__file__).parent.parent / "pyproject.toml").read_text())["project"]
    plugin = import_module(project["entry-points"]["conda"]["gpudoctor"])
    manager = pluggy.PluginManager("conda")
    manager.add_hookspecs(import_module("conda.plugins").Specs)
    manager.register(plugin)
    yield Conda(manager, plugin)
    for name in [name for name in sys.modules if name == "conda" or name.startswith(("conda.", plugin.__name__))]:
        del sys.modules[name]


def checks(conda: Conda) -> list[Any]:
    return [one for found in conda.manager.hook.conda_health_checks() for one in found]


def test_conda_finds_one_health_check(conda: Conda) -> None:
    (one,) = checks(conda)
    assert one.name == "GPU for machine learning (gpudoctor)"


def test_it_examines_the_environment(conda: Conda, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (one,) = checks(conda)
    one.action(str(tmp_path / "env"), True)
    assert f"Python    {tmp_path}/env/bin/python" in capsys.readouterr().out
    one.action(str(tmp_path / "env"), False)
    assert capsys.readouterr().out.startswith(("✅ ", "❌ ", "⚪ "))


def test_an_environment_without_python(conda: Conda, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = checks(conda)
    (tmp_path / "empty").mkdir()
    one.action(str(tmp_path / "empty"), False)
    assert capsys.readouterr().out.startswith("No Python was checked: ")


def test_what_it_says(conda: Conda) -> None:
    reported = conda.plugin.report_text
    assert reported(check(facts=demo.load("mismatch")), OF_ENVIRONMENT) == (
        "❌ 1 problem found.\n"
        "  FAIL The loaded kernel module is 550.107.02, the driver's libraries are 550.120: the versions do not match. "
        "Module 550.120 is installed on disk but not loaded yet.\n"
        "    sudo reboot\n"
        "`gpudoctor check --python /opt/env` shows the full report.\n"
    )
    well = reported(check(facts=nvidia_host()), OF_ENVIRONMENT)
    assert well.startswith("✅ No problems found with the driver and GPU (")
    assert well.endswith("; no framework was checked.\n")
    assert well.count("\n") == 1
    assert reported(gpudoctor.Report(), OF_ENVIRONMENT).startswith("❌ Too little is known about the GPU.\n`")


@pytest.mark.parametrize("machine", machines(), ids=lambda one: one.name)
def test_every_machine_has_its_lines(conda: Conda, machine: Any) -> None:
    report = check(facts=machine.make())
    lines = conda.plugin.report_text(report, OF_ENVIRONMENT).splitlines()
    assert sum(line.startswith(("  FAIL ", "  WARN ")) for line in lines) == report.summary.fail + report.summary.warn
    unjudged = "⚪" if report.status == "no-gpu" else "✅"
    assert lines[0].startswith("❌" if report.failed or report.status == "incomplete" else unjudged)


def test_nothing_of_ours_is_loaded_with_conda(tmp_path: Path) -> None:
    """At each start conda imports its plug-ins at each start; and without conda nobody imports the module."""
    _lay(tmp_path, "CondaHealthCheck")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import gpudoctor.conda_plugin;"
        "print(sorted(n for n in sys.modules if n.startswith(('gpudoctor', 'msgspec', 'rich'))))"
    )
    root = Path(gpudoctor.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, cwd=root)
    assert ran.stdout.strip() == "['gpudoctor', 'gpudoctor.conda_plugin']", ran.stderr
    alone = "import gpudoctor.cli, gpudoctor.library, sys; print('conda' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True, cwd=root)
    assert ran.stdout.strip() == "False", ran.stderr
