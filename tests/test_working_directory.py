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


def test_what_would_hide_a_framework_is_told(trapped: Path) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "facts", "--quick"]
    ended = subprocess.run(argv, cwd=trapped, capture_output=True, text=True, timeout=120, check=True)
    told = json.loads(ended.stdout)["host"]["working_directory_shadows"]
    assert {name.removesuffix(".py") for name in told} == set(FRAMEWORKS)
