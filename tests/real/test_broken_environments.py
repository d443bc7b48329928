"""Environments that are broken as it happens, examined, and repaired by typing the first fix as it stands.

The wheels are made here, of a few lines each; pip and uv are real, and nothing comes from an index.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clinic.kit import copy

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]

UV = Path(sys.executable).with_name("uv")
TORCH = {"__init__.py": "import random, typing_extensions\nfrom torch.version import __version__\n", "version.py": ""}


def wheel(folder: Path, name: str, version: str, files: dict[str, str], *requires: str) -> None:
    """Make a wheel."""
    place = f"{name}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata = head + "".join(f"Requires-Dist: {one}\n" for one in requires)
    tag = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    whole = {**files, f"{place}/METADATA": metadata, f"{place}/WHEEL": tag}
    record = "".join(f"{path},,\n" for path in (*whole, f"{place}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for path, text in {**whole, f"{place}/RECORD": record}.items():
            file.writestr(path, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheels: two releases of a torch with many files, and what goes with it."""
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("2.6.0", "2.7.1"):
        files = {f"torch/{name}": text for name, text in TORCH.items()}
        files["torch/version.py"] = f"__version__ = '{version}'\ncuda = None\n"
        files |= {f"torch/part_{number}.py": f"# {version}\n" * 40 for number in range(300)}
        needs = ("typing_extensions>=4.10", "triton==3.3.1; platform_system == 'Linux'", "nvidia-cudnn-cu12==9.5.1.17")
        wheel(folder, "torch", version, files, *needs)
    wheel(folder, "torchvision", "0.22.1", {"torchvision/__init__.py": ""}, "torch==2.7.1")
    for name, version in (("cu12", "9.5.1.17"), ("cu12", "9.10.2.21"), ("cu13", "9.26.0.51")):
        wheel(folder, f"nvidia_cudnn_{name}", version, {"nvidia/cudnn/lib/libcudnn.so.9": f"{name} {version}\n"})
    wheel(folder, "triton", "3.3.1", {"triton/__init__.py": ""})
    wheel(folder, "typing_extensions", "4.15.0", {"typing_extensions.py": ""})
    return folder


class Env:
    """An environment with the torch of the wheels, in a project of its own."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        self.folder, self.python = folder, folder / ".venv/bin/python"
        self.installer: tuple[str | Path, ...] = (self.python, "-m", "pip")
        self.site = folder / f".venv/lib/python3.{sys.version_info[1]}/site-packages"
        quiet = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        (folder / "uv.toml").write_text(f"no-index = true\nfind-links = ['{wheels}']\n")
        uv = {"UV_CONFIG_FILE": str(folder / "uv.toml"), "UV_NO_CACHE": "1"}
        self.env = {
            "PATH": f"{UV.parent}:/usr/bin:/bin",
            "HOME": str(folder),
            "PIP_CONFIG_FILE": os.devnull,
            **quiet,
            **uv,
        }

    def run(self, *argv: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program in the project."""
        return subprocess.run(argv, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300)

    def check(self, *asked: Path) -> dict[str, Any]:
        """What gpudoctor reports of an interpreter, else in the project's directory, with its .venv not activated."""
        named = [word for path in asked for word in ("--python", path)]
        areas = "python,pytorch,libraries"
        ran = self.run(sys.executable, "-m", "gpudoctor", "check", "--json", "--only", areas, *named)
        reported: dict[str, Any] = json.loads(ran.stdout)
        assert reported["python"]["path"] == str(asked[0] if asked else self.python)
        return reported

    def first(self) -> dict[str, Any]:
        """Its first finding."""
        found: dict[str, Any] = self.check()["findings"][0]
        return found

    def pip(self, *words: str) -> None:
        """Run pip, or uv's pip, in the environment."""
        done = self.run(*self.installer, *words)
        assert done.returncode == 0, done.stderr

    def type(self, finding: dict[str, Any]) -> None:
        """Type the first fix as it stands."""
        for command in finding["fixes"][0]["commands"]:
            done = self.run("/bin/sh", "-c", command)
            assert done.returncode == 0, (command, done.stdout, done.stderr)

    def whole(self, *asked: Path) -> bool:
        """Whether nothing is found any more, and the program runs."""
        code = "import torch, torchvision, importlib.metadata as m; print(torch.__version__, m.version('torch'))"
        ran = self.run(self.python, "-c", code)
        return not self.check(*asked)["findings"] and ran.stdout.split() == ["2.7.1", "2.7.1"]


@pytest.fixture(scope="module", params=["pip", "uv"])
def healthy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Env:
    """A healthy environment, made and filled by pip or by uv."""
    made = Env(tmp_path_factory.mktemp(str(request.param)), wheels)
    if request.param == "uv":
        made.run(UV, "venv", "-q", "--python", sys.executable, ".venv")
        made.installer = (UV, "pip")
    else:
        made.run(sys.executable, "-m", "venv", ".venv")
    made.pip("install", "-q", "torch==2.7.1", "torchvision")
    assert made.whole()
    return made


@pytest.fixture
def env(healthy: Env, tmp_path: Path, wheels: Path) -> Env:
    """A copy of it that a test may break."""
    copy(healthy.folder / ".venv", tmp_path / ".venv")
    made = Env(tmp_path, wheels)
    if healthy.installer[0] == UV:
        made.installer = healthy.installer
    return made


def uninstall(env: Env, name: str) -> None:
    (record,) = env.site.glob(f"{name}-*.dist-info/RECORD")
    for row in record.read_text().splitlines():
        path = env.site / row.partition(",")[0]
        path.unlink(missing_ok=True)
        if path.parent not in (env.site, record.parent) and path.parent.exists() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    record.parent.rmdir()


def two_records(env: Env) -> None:
    """As an image put together in layers has them: the former release's metadata with its own list of files."""
    new = env.site / "torch-2.7.1.dist-info"
    old = env.site / "torch-2.6.0.dist-info"
    old.mkdir()
    for path in new.iterdir():
        (old / path.name).write_text(path.read_text().replace("2.7.1", "2.6.0").replace(",28", ",31"))


def lose(*names: str) -> Callable[[Env], None]:
    def remove(env: Env) -> None:
        for name in names:
            (env.site / f"torch-2.7.1.dist-info/{name}").unlink()

    return remove


def another_cudnn(env: Env) -> None:
    """Two wheels with the same files; who removes one of them takes the files of both."""
    env.pip("install", "-q", "nvidia-cudnn-cu13")
    env.pip("uninstall", *(() if env.installer[0] == UV else ("-y",)), "nvidia-cudnn-cu13")


CASES: dict[str, tuple[Callable[[Env], object], str, str]] = {
    "a requirement of the import": (
        lambda env: uninstall(env, "typing_extensions"),
        "python.unmet-requirement",
        "fail",
    ),
    "a requirement of a part": (lambda env: uninstall(env, "triton"), "python.unmet-requirement", "warn"),
    "two records": (two_records, "python.metadata-twice", "warn"),
    "no METADATA": (lose("METADATA"), "python.metadata-lost", "warn"),
    "no RECORD": (lose("RECORD"), "python.metadata-lost", "warn"),
    "neither": (lose("METADATA", "RECORD"), "python.metadata-lost", "warn"),
    "a newer cuDNN": (
        lambda env: env.pip("install", "-q", "nvidia-cudnn-cu12==9.10.2.21"),
        "libraries.cudnn-pin-broken",
        "advice",
    ),
    "a cuDNN of another CUDA removed": (another_cudnn, "libraries.wheel-incomplete", "advice"),
    "a file of one's own": (
        lambda env: (env.folder / "random.py").write_text("x = 1\n"),
        "python.standard-library-hidden",
        "warn",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_broken_is_found_and_repaired(name: str, env: Env) -> None:
    breaks, check, status = CASES[name]
    breaks(env)
    reported = env.check()
    assert [(f["check"], f["status"]) for f in reported["findings"]] == [(check, status)]
    env.type(reported["findings"][0])
    assert env.whole()


@pytest.mark.parametrize("healthy", ["pip"], indirect=True)
def test_pip_that_was_killed(env: Env) -> None:
    """By SIGKILL while it replaces torch: as soon as the first directory has been renamed."""
    argv = [str(env.python), "-m", "pip", "install", "--no-deps", "torch==2.6.0"]
    with subprocess.Popen(argv, env=env.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as pip:
        while pip.poll() is None and (env.site / "torch-2.7.1.dist-info").exists():
            time.sleep(0.001)
        pip.send_signal(signal.SIGKILL)
    left = list(env.site.glob("~*"))
    done = (env.site / "torch-2.6.0.dist-info" / "METADATA").exists()  # after the modules
    if done or not any(path.name.endswith(".dist-info") for path in left):
        pytest.skip("pip was done before it could be killed")
    finding = env.first()
    assert (finding["check"], finding["status"]) == ("python.half-removed", "fail")
    assert "2.7.1" in finding["message"]
    env.type(finding)
    assert not list(env.site.glob("~*"))
    assert env.whole()


@pytest.mark.parametrize("healthy", ["pip"], indirect=True)
def test_pip_that_was_killed_before_its_last_step(env: Env) -> None:
    """The new release is there without the RECORD that pip writes last, next to the renamed former release."""
    for name in ("torch", "torch-2.7.1.dist-info"):
        shutil.copytree(env.site / name, env.site / name.replace("torch", "~orch"))
    (env.site / "torch-2.7.1.dist-info" / "RECORD").unlink()
    finding = env.first()
    assert finding["check"] == "python.half-removed"
    assert "has no RECORD" in finding["message"]
    env.type(finding)
    assert not list(env.site.glob("~*"))
    assert env.whole()


@pytest.mark.parametrize("healthy", ["pip"], indirect=True)
def test_an_environment_that_was_moved(env: Env) -> None:
    """Its scripts get its path; or it is made again next to where it is now. The program runs in both."""
    (env.folder / ".venv").rename(env.folder / "moved")
    moved = env.python = env.folder / "moved/bin/python"
    finding = env.check(moved)["findings"][0]
    assert finding["check"] == "python.environment-moved"
    env.type(finding)
    pip = subprocess.run([moved.with_name("pip"), "--version"], capture_output=True, text=True, check=True)
    assert f"{env.folder}/moved/lib" in pip.stdout
    assert env.whole(moved)
    assert finding["check"] not in {one["check"] for one in env.check(moved)["findings"]}
    env.type({"fixes": finding["fixes"][1:]})
    env.python = env.folder / "moved-new/bin/python"
    assert env.whole(env.python)
