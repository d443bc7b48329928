"""Makes the environments with uv, or takes those that are left in the folder GPUDOCTOR_REALENV from an earlier run."""

import ctypes
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Framework
from gpudoctor.machine import Machine
from gpudoctor.probes import frameworks, python

Look = Callable[..., tuple[Framework, ...]]
_UV = Path(sys.executable).with_name("uv")
# The wheels of PyTorch for CUDA and what they need have five gigabytes.
_SECONDS = 1200


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of the tests that download gigabytes."""
    config.addinivalue_line("markers", "large: downloads several gigabytes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests out of an ordinary run, and on a machine with a driver, where other texts are right."""
    asked = "realenv" in str(config.option.markexpr) or "GPUDOCTOR_REALENV" in os.environ
    why = "there is an NVIDIA driver" if _has_driver() else "" if asked else "run with -m realenv"
    for item in items:
        if why and "realenv" in item.keywords:
            item.add_marker(pytest.mark.skip(reason=why))


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the environments lie."""
    if kept := os.environ.get("GPUDOCTOR_REALENV"):
        Path(kept).mkdir(parents=True, exist_ok=True)
        return Path(kept)
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "environments"  # one for all workers
    place.mkdir(exist_ok=True)
    return place


@pytest.fixture(scope="session")
def interpreter(folder: Path) -> Callable[..., str]:
    """Give the interpreter of an environment with these requirements, made where it is not there yet."""

    def make(name: str, *requirements: str) -> str:
        place = folder / name
        path = place / "bin/python"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be at it
            if not path.exists():
                _make(place, path, *requirements)
        return str(path)

    return make


def _make(place: Path, path: Path, *requirements: str) -> None:
    _run(str(_UV), "venv", "-q", "--python", sys.executable, str(place))
    install = (str(_UV), "pip", "install", "-q", "--python", str(path))
    local = any("+" in one for one in requirements)  # no index of PyPI's kind has such a build
    links = os.environ.get("PIP_FIND_LINKS", "").split() if local else []
    if local and not links:  # only pip reads its settings
        _run(*install, "pip")
        _run(str(path), "-m", "pip", "install", "-q", *requirements)
    else:  # uv links what it has unpacked once, and compiles nothing that nobody imports
        _run(*install, *(word for link in links for word in ("--find-links", link)), *requirements)


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        pytest.skip(f"{' '.join(argv[-3:])}: {done.stderr.strip()[-300:]}")


@pytest.fixture(scope="session")
def look(interpreter: Callable[..., str]) -> Look:
    """Give the frameworks of an environment, imported, by a probe with a bare process environment."""

    def ask(name: str, *requirements: str, **env: str) -> tuple[Framework, ...]:
        path = interpreter(name, *requirements)
        machine = Machine(env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **env}, seconds=300)
        return frameworks.probe(machine, python.probe(machine, path, quick=True), live=True, gpu=True)

    return ask
