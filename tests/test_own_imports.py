"""Our own modules are imported as Python would, only with fewer system calls."""

import importlib.util
import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.own_imports import _Finder, _Loader

HERE = Path(gpudoctor.__file__).parent


@pytest.mark.parametrize("name", ["gpudoctor.maybe", "gpudoctor.facts", "gpudoctor.checks.driver.not_loaded"])
def test_a_module_is_found_as_python_finds_it(name: str) -> None:
    parent = importlib.import_module(name.rpartition(".")[0])
    found, expected = _Finder().find_spec(name, parent.__path__), importlib.util.find_spec(name)
    assert found is not None
    assert expected is not None
    same = ("name", "origin", "cached", "submodule_search_locations", "parent", "has_location")
    assert [getattr(found, one) for one in same] == [getattr(expected, one) for one in same]
    assert isinstance(found.loader, _Loader)
    assert found.loader.get_source(name) == Path(str(found.origin)).read_text()


def test_other_modules_are_left_to_python() -> None:
    finder = _Finder()
    assert finder.find_spec("json", None) is None
    assert finder.find_spec("gpudoctor.nothing", [str(HERE)]) is None
    assert finder.find_spec("gpudoctor.x", ["/somewhere/else"]) is None


def test_bytecode_counts_only_while_its_source_is_as_it_was(tmp_path: Path) -> None:
    source = tmp_path / "one.py"
    source.write_text("VALUE = 1\n")
    py_compile.compile(str(source))

    def value() -> object:
        found: dict[str, object] = {}
        exec(_Loader("one", str(source)).get_code("one") or "", found)
        return found["VALUE"]

    assert value() == 1
    cached = Path(importlib.util.cache_from_source(str(source)))
    made, data = os.stat(source), bytearray(cached.read_bytes())
    source.write_text("VALUE = 2\n")
    os.utime(source, (made.st_atime, made.st_mtime))
    assert value() == 1  # as Python: the same time and the same size
    source.write_text("VALUE = 22\n")
    assert value() == 22
    data[0] ^= 1  # of another Python
    cached.write_bytes(data)
    assert value() == 22
    cached.unlink()
    assert value() == 22


def test_the_command_uses_it_and_a_user_of_the_library_does_not() -> None:
    code = (
        "import sys, json, runpy, contextlib, io\n"
        "import gpudoctor.pipeline\n"
        "before = len([one for one in sys.meta_path if 'gpudoctor' in type(one).__module__])\n"
        "from gpudoctor import own_imports; own_imports.install()\n"
        "import gpudoctor.cli.version as one\n"
        "print(json.dumps([before, type(one.__loader__).__module__, one.__file__]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert json.loads(ended.stdout) == [0, "gpudoctor.own_imports", str(HERE / "cli" / "version.py")]
