"""In a folder with a json.py or a torch.py of somebody's, nothing of it is imported, and it is reported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("gpudoctor")
STANDARD = [
    "argparse", "ast", "bisect", "calendar", "configparser", "ctypes", "dataclasses", "datetime", "difflib", "email",
    "fcntl", "glob", "gzip", "hashlib", "html", "inspect", "json", "locale", "logging", "pathlib", "pickle",
    "platform", "random", "secrets", "select", "selectors", "shlex", "shutil", "signal", "socket", "statistics",
    "string", "struct", "subprocess", "tempfile", "termios", "textwrap", "threading", "tomllib", "traceback", "typing",
    "unicodedata", "uuid", "xml", "zipfile",
]  # fmt: skip
THEIRS = ["msgspec", "packaging", "rich", "textual", "pynvml", "gpudoctor_checks"]
FRAMEWORKS = ["torch", "tensorflow", "cupy", "jax", "numpy"]


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A working directory in which each of these modules notes that it was imported."""
    for name in [*STANDARD, *THEIRS, *FRAMEWORKS]:
        noted = tmp_path / "imported"
        (tmp_path / f"{name}.py").write_text(f"import os\nos.close(os.open({str(noted) + '-' + name!r}, os.O_CREAT))\n")
    return tmp_path


@pytest.fixture
def besieged(trapped: Path) -> Path:
    """The same with packages of our own name, of the tools that we start by `-m`, and a check's entry point."""
    for name in ("gpudoctor", "gpudoctor_checks", "pip", "venv", "importlib", "runpy"):
        (trapped / name).mkdir()
        for part in ("__init__", "__main__"):
            noted = f"import os\nos.close(os.open({str(trapped / 'imported') + '-' + name!r}, os.O_CREAT))\n"
            (trapped / name / f"{part}.py").write_text(noted)
    (trapped / "theirs-1.dist-info").mkdir()
    (trapped / "theirs-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    entry = "[gpudoctor.checks]\ntheirs = gpudoctor_checks\n"
    (trapped / "theirs-1.dist-info" / "entry_points.txt").write_text(entry)
    (trapped / "sitecustomize.py").write_text((trapped / "json.py").read_text().replace("-json", "-sitecustomize"))
    return trapped


def imported(folder: Path) -> set[str]:
    return {path.name.partition("-")[2] for path in folder.glob("imported-*")}


STARTS = {"python -m": [sys.executable, "-m", "gpudoctor"], "the script": [str(SCRIPT)]}
COMMANDS = [
    ("check", "--json", "--timeout", "60", "--fail-on", "never"),
    ("check", "--quick", "--format", "html", "--fail-on", "never"),
    ("facts", "--quick"),
    ("explain", "driver.library-mismatch"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("start", STARTS)
def test_nothing_of_it_is_imported(start: str, words: tuple[str, ...], trapped: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    argv = [*STARTS[start], *words]
    ended = subprocess.run(argv, cwd=trapped, env=env, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert imported(trapped) == set()


# Each starts interpreters, other programs of ours, or both; what they come to on this machine is no matter here.
STARTING = [
    ("check", "--json", "--python", sys.executable),
    ("smoke", "matmul", "--backend", "cpu", "--dtype", "fp32"),
    ("facts", "--quick", "--python", sys.executable),
    ("record", "--quick"),
    ("bundle", "--quick", "theirs.tar.gz"),
    ("setup", "pytorch", "--cpu", "--format", "shell"),
    ("fix", "driver.library-mismatch"),
    ("checks",),
    ("run", "--", "true"),
]


@pytest.mark.parametrize("words", STARTING, ids=" ".join)
def test_a_package_of_our_own_name_is_not_imported(words: tuple[str, ...], besieged: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ended = subprocess.run([str(SCRIPT), *words], cwd=besieged, env=env, capture_output=True, text=True, timeout=200)
    assert "Traceback" not in ended.stderr
    assert imported(besieged) == set()


CARRIED = {
    "ourselves": ("gpudoctor", "--version"),
    "another interpreter": (sys.executable, "-m", "pip", "--version"),
}


@pytest.mark.parametrize("words", CARRIED.values(), ids=CARRIED)
def test_what_fix_and_setup_carry_out_imports_nothing_of_it(words: tuple[str, ...], besieged: Path) -> None:
    code = f"from gpudoctor.cli import confirm; raise SystemExit(confirm.run({words!r}))"
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    argv = [sys.executable, "-P", "-c", code]
    ended = subprocess.run(argv, cwd=besieged, env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert imported(besieged) == set()


def test_our_own_command_imports_nothing_of_it_wherever_it_is_started(besieged: Path) -> None:
    from gpudoctor.cli.run_program.spawn import ourselves

    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    argv = ourselves("--version")
    ended = subprocess.run(argv, cwd=besieged, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.startswith("gpudoctor ")
    assert imported(besieged) == set()


def test_what_would_hide_a_framework_is_told(trapped: Path) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "facts", "--quick"]
    ended = subprocess.run(argv, cwd=trapped, capture_output=True, text=True, timeout=120, check=True)
    reported = json.loads(ended.stdout)["host"]["working_directory_shadows"]
    assert {name.removesuffix(".py") for name in reported} == set(FRAMEWORKS)
