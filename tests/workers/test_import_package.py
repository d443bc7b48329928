"""The import of one package in a child: what it says, and where it is stopped."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import workers


def outcome(tmp_path: Path, code: str, *first: str, names: str = "") -> dict[str, Any]:
    (tmp_path / "own.py").write_text(code)
    own = f"own:{names}" if names else "own"
    argv = [sys.executable, workers.script("import_package.py"), own, *first]
    env = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ended = subprocess.run(argv, capture_output=True, text=True, env=env, check=True, timeout=60)
    facts: dict[str, Any] = {}
    for line in ended.stdout.splitlines():
        facts.update(json.loads(line.removeprefix("gpudoctor:")))
    return facts


def test_an_import_that_succeeds(tmp_path: Path) -> None:
    found = outcome(tmp_path, "print('hello')")
    assert found["imported"] is True
    assert found["file"] == f"{tmp_path}/own.py"


def test_the_loaders_words_follow_an_error_that_leaves_them_out(tmp_path: Path) -> None:
    (tmp_path / "libtext.so").write_text("no library")
    path = f"{tmp_path}/libtext.so"
    found = outcome(tmp_path, f"raise RuntimeError('No.\\nFFmpeg version 8: Could not load this library: {path}')")
    first, second, third = found["import_error"].splitlines()
    assert (first, second) == ("RuntimeError: No.", f"FFmpeg version 8: Could not load this library: {path}")
    assert third.startswith(f"OSError: {path}: ")


LAZY = """
class Lazy(type(__import__('sys'))):
    def __getattr__(self, name):
        if name == 'Trainer':
            try:
                import nothing_there
            except ImportError as error:
                raise RuntimeError('Failed to import own.trainer because of the following error') from error
        if name == 'Other':
            raise ValueError('another error')
        if name == 'Old':
            raise AttributeError(f'module {self.__name__} has no attribute {name}')
        return super().__getattribute__(name)
import sys
sys.modules[__name__].__class__ = Lazy
Fine = 1
"""


@pytest.mark.parametrize(
    ("names", "error", "part"),
    [
        ("", None, None),
        ("Fine", None, None),
        ("Old", None, None),  # of another release, in transformers' words
        ("Gone", None, None),  # in Python's
        ("__wrapped__", None, None),
        ("Fine,Trainer", "ModuleNotFoundError: No module named 'nothing_there'", "Trainer"),
        ("Trainer,Other", "ModuleNotFoundError: No module named 'nothing_there'", "Trainer"),
        ("Other", "ValueError: another error", "Other"),
    ],
)
def test_names_that_load_when_they_are_used(tmp_path: Path, names: str, error: str | None, part: str | None) -> None:
    found = outcome(tmp_path, LAZY, names=names)
    assert (found.get("import_error"), found.get("part"), found["imported"]) == (error, part, True)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("broken", "ValueError: this requires tf-keras package"),
        ("lacking", "ModuleNotFoundError: No module named 'nothing_there'"),
        ("chained", "ValueError: no"),  # what a package says itself, it says better
        ("fine", None),
        ("gone", None),
    ],
)
def test_modules_that_programs_use(tmp_path: Path, name: str, error: str | None) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "fine.py").write_text("")
    (folder / "broken.py").write_text("raise ValueError('this requires tf-keras package')")
    (folder / "chained.py").write_text(
        "try:\n    import nothing\nexcept ImportError as e:\n    raise ValueError('no') from e"
    )
    (folder / "lacking.py").write_text("import nothing_there")
    assert outcome(tmp_path, "", names=name).get("import_error") == error


def test_an_import_that_raises(tmp_path: Path) -> None:
    found = outcome(tmp_path, "raise ImportError('libcudart.so.13: cannot open shared object file')")
    assert found["import_error"] == "ImportError: libcudart.so.13: cannot open shared object file"


def test_libraries_that_are_loaded_when_they_are_used(tmp_path: Path) -> None:
    tried = "\\n".join(
        ("FFmpeg version 8:", "OSError: libavutil.so.60: cannot open shared object file: No such file or directory")
    )
    raises = f"def load(): raise RuntimeError('Could not load it. Likely causes:\\n 1. FFmpeg\\n{tried}')"
    found = outcome(tmp_path, raises, names="load()")
    assert (found["later"], found["imported"]) == (True, True)
    assert found["import_error"] == (
        "RuntimeError: Could not load it. Likely causes:\n"
        "OSError: libavutil.so.60: cannot open shared object file: No such file or directory"
    )
    for code in ("def load(): pass", "def other(): 1 / 0", "load = 1"):
        assert "import_error" not in outcome(tmp_path, code, names="load()")
    assert "later" not in outcome(tmp_path, "raise ImportError('x')", names="load()")


@pytest.mark.parametrize("command", ["['ninja', '-v']", "['/usr/local/cuda/bin/nvcc', 'x.cu']", "['g++', 'x.cpp']"])
def test_nothing_is_compiled(tmp_path: Path, command: str) -> None:
    found = outcome(tmp_path, f"import subprocess; subprocess.run({command}, check=False)")
    compiles = "-v" not in command
    assert found.get("builds", False) is compiles


def test_the_release_of_a_compiler_may_be_asked(tmp_path: Path) -> None:
    code = "import subprocess\ntry:\n    subprocess.run(['nvcc', '--version'])\nexcept OSError:\n    pass"
    assert outcome(tmp_path, code)["imported"] is True


def test_no_lock_is_made_and_none_is_waited_for(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = f"import os; os.open({str(lock)!r}, os.O_CREAT | os.O_EXCL)"
    assert outcome(tmp_path, code) == {"stage": "import", "builds": True}
    assert not lock.exists()
    lock.write_text("")
    assert outcome(tmp_path, code)["lock"] == str(lock)


def test_nobody_is_asked_on_the_network(tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 80))"
    assert "Network is unreachable" in outcome(tmp_path, code)["import_error"]


def test_what_it_expects_comes_first(tmp_path: Path) -> None:
    assert outcome(tmp_path, "", "json")["imported"] is True
    assert outcome(tmp_path, "", "no_such_framework")["without"] == "no_such_framework"
