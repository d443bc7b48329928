"""Makes the environments that the benchmark measures in, or takes those that are there."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What each environment holds; torch's wheel for processors only has no CUDA libraries beside it.
WANTED = {
    "torch": ["torch"],
    "four": ["torch", "tensorflow-cpu", "cupy-cuda12x", "jax"],
}
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def environment(folder: Path, name: str) -> str:
    """The interpreter of an environment of WANTED; it is made where it is missing (gigabytes, minutes)."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        _venv(folder / name)
        _pip(python, "install", "--extra-index-url", CPU_INDEX, *WANTED[name])
    return str(python)


def gpudoctor(folder: Path) -> str:
    """The command, installed as a user would: a wheel of this tree, in an environment of its own."""
    place = folder / "gpudoctor"
    _venv(place)
    python = place / "bin" / "python"
    _pip(python, "wheel", "--no-deps", "--wheel-dir", str(folder / "wheel"), str(ROOT))
    newest = max((folder / "wheel").glob("gpudoctor*.whl"), key=os.path.getmtime)
    _pip(python, "install", "--force-reinstall", str(newest))
    return str(place / "bin" / "gpudoctor")


def env_doctor(folder: Path, python: str) -> Path:
    """A folder with env-doctor and all that it needs, for PYTHONPATH: so the measured environment stays as it is."""
    place = folder / "env-doctor"
    if not place.exists():
        _pip(Path(python), "install", "--target", str(place), "env-doctor")
    return place


def _venv(place: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)


def _pip(python: Path, *words: str) -> None:
    """Run pip, which compiles bytecode as it installs, for us and for the others."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([str(python), "-m", "pip", *words, "-q", "--disable-pip-version-check"], check=True, env=env)
