"""An environment with real wheels over a stand-in for the driver: broken, checked, and repaired by typing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.toml import tomllib

HERE = Path(__file__).parent
UV = Path(sys.executable).with_name("uv")
# PyTorch for CUDA has four gigabytes, and a fix may install it again.
SECONDS = 1200
# What the shell of the tests has of Python and CUDA is no part of the user's.
_FOREIGN = ("PYTHON", "CUDA", "NVIDIA", "LD_", "JAX_", "TF_", "XLA_", "COV_", "PYTEST", "VIRTUAL_ENV", "CONDA")
# What pip and uv report where an index cannot be reached, which proves nothing about a fix.
_UNREACHABLE = ("download.pytorch.org",)


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is installed, by which installer, for which Python (None: that of the tests), and what nobody can prove."""

    requirements: tuple[str, ...]
    installer: str = "pip"
    python: str | None = None
    unproven: tuple[str, ...] = ()


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A GPU (PCI id, compute capability) and its driver, with the CUDA release that it runs as cuDriverGetVersion."""

    name: str
    pci: str
    capability: int
    driver: str
    cuda: int


class Breakage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of breakages.toml, which explains its fields."""

    name: str
    environment: str
    program: str
    cause: str
    host: str = "rtx-4090"
    breaks: str = ""
    env: dict[str, str] = {}
    fix: int = 1
    runs: bool = False
    always: bool = False
    typed: bool = True


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file breakages.toml."""

    host: dict[str, Host]
    environment: dict[str, Environment]
    program: dict[str, str]
    breakage: tuple[Breakage, ...]


TABLE = msgspec.convert(tomllib.loads((HERE / "breakages.toml").read_text()), Table)


def make(place: Path, wanted: Environment) -> None:
    """Make an environment where it is not there yet; skips the test where its packages cannot be had."""
    if (place / "made").exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    _run(UV, "venv", "-q", "--seed", "--python", wanted.python or sys.executable, place)
    _run(UV, "pip", "install", "-q", "--python", place / "bin/python", *wanted.requirements)
    if wanted.installer == "pip":  # uv is faster; what it leaves of its own name is what pip would have left
        for path in place.glob("lib/python*/site-packages/*.dist-info/INSTALLER"):
            replace(path, "pip\n")
        config = place / "pyvenv.cfg"
        lines = config.read_text().splitlines(keepends=True)
        replace(config, "".join(line for line in lines if not line.startswith("uv")))
    (place / "made").touch()


def copy(place: Path, to: Path) -> None:
    """Copy an environment by hard links, so that it costs neither time nor space; its scripts name the new place."""
    subprocess.run(["cp", "-al", place, to], check=True)
    for path in [*(to / "bin").iterdir()]:
        if path.is_file() and not path.is_symlink():
            text = path.read_bytes()
            if str(place).encode() in text:
                replace(path, text.replace(str(place).encode(), str(to).encode()))


def replace(path: Path, text: str | bytes) -> None:
    """Write a file anew, with the same permissions: its other hard links keep what they have."""
    mode = path.stat().st_mode
    path.unlink()
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)


def _run(*argv: str | Path) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        pytest.skip(f"{' '.join(map(str, argv[-3:]))}: {done.stderr.strip()[-300:]}")


class Shell:
    """The user's shell in a project, with the environment activated: what is exported stays.

    Args:
        project: the working directory, with the environment in `env`.
        driver: the directory of the stand-ins for the driver's libraries.
        host: GPU and driver.
    """

    def __init__(self, project: Path, driver: Path, host: Host) -> None:
        self.project, self.prefix, self.cwd = project, project / "env", project
        home = project.parent / "home"
        home.mkdir(exist_ok=True)
        cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)} | {
            "PATH": f"{self.prefix}/bin:{UV.parent}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home),
            "VIRTUAL_ENV": str(self.prefix),
            "DRIVER": str(driver),
            "SITE": str(next(iter(self.prefix.glob("lib/python*/site-packages")), "")),
            "LD_LIBRARY_PATH": str(driver),
            "LD_PRELOAD": str(driver / "libcudart_queries.so"),
            "UV_CACHE_DIR": cache,
            "STANDIN_NAME": host.name,
            "STANDIN_PCI": host.pci,
            "STANDIN_CAPABILITY": str(host.capability),
            "STANDIN_DRIVER": host.driver,
            "STANDIN_CUDA": str(host.cuda),
        }

    def type(self, *lines: str) -> subprocess.CompletedProcess[str]:
        """Type lines as they are; the first that fails ends it."""
        left = self.project.parent / "env.after"
        script = "set -e\n" + "\n".join(lines) + f"\nenv -0 > {left}\n"
        argv = ["bash", "-c", script]
        done = subprocess.run(argv, cwd=self.cwd, env=self.env, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode == 0:
            pairs = [pair.partition("=") for pair in left.read_text().split("\0") if pair]
            self.env = {key: value for key, _, value in pairs if key not in ("_", "SHLVL")}
            self.cwd = Path(self.env["PWD"])
        elif any(name in done.stderr + done.stdout + script for name in _UNREACHABLE):
            pytest.skip("PyTorch's own index cannot be reached")
        return done

    def runs(self, program: str) -> tuple[bool, str]:
        """Whether the user's program ends without an error, and the last lines of what it wrote."""
        argv = ["python", "-c", program]
        done = subprocess.run(argv, cwd=self.cwd, env=self.env, capture_output=True, text=True, timeout=300)
        return done.returncode == 0, (done.stdout + done.stderr).strip()[-600:]

    def check(self) -> list[dict[str, Any]]:
        """What gpudoctor finds, in its order."""
        argv = [sys.executable, str(HERE / "host.py"), "check", "--json"]
        done = subprocess.run(argv, cwd=self.cwd, env=self.env, capture_output=True, text=True, timeout=600)
        report = json.loads(done.stdout or "{}")
        assert "findings" in report, done.stderr[-2000:]
        assert report["python"]["path"] == f"{self.prefix}/bin/python"
        found: list[dict[str, Any]] = report["findings"]
        return found
