"""The table of names, as its script reads wheels and writes it."""

import datetime
import io
import json
import zipfile

import msgspec

from gpudoctor.knowledge.release_names import Names, ReleaseNames
from scripts.release_names import changes, read, releases, written


def wheel(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return out.getvalue()


def test_public_names_and_modules() -> None:
    init = (
        "from .a import first, second as second\nfrom .b import (\n    third,\n    _hidden as fourth,\n)\n"
        "_import_structure = {'models': ['Fifth']}\n"
    )
    code = "class Sixth:\n    def method(self): ...\ndef seventh(): ...\neighth: int = 8\n_private = 1\n"
    files = {"pack/__init__.py": init, "pack/part/x.py": code, "pack/tests/test_x.py": "class No: ...", "other.py": ""}
    names, modules = read(wheel(files), "pack")
    assert {"first", "second", "third", "fourth", "Fifth", "models", "Sixth", "seventh", "eighth"} <= names
    assert not names & {"method", "_private", "_hidden", "No"}
    assert modules == {"pack", "pack.part.x"}


def test_what_came_and_what_went() -> None:
    every = {(0, 9): {"old", "kept", "again"}, (0, 10): {"old", "kept"}, (1, 0): {"kept", "new", "again"}}
    assert changes(every) == ("new 1.0", "old 1.0")


def test_the_last_release_of_each_minor_one() -> None:
    found = {
        "0.9.0": [{"upload_time": "2024-01-01T00:00:00"}],
        "0.9.2": [{"upload_time": "2024-02-01T00:00:00"}],
        "0.10.0": [{"upload_time": "2024-03-01T00:00:00"}],
        "0.11.0rc1": [{"upload_time": "2024-03-01T00:00:00"}],
        "0.1.0": [{"upload_time": "2019-03-01T00:00:00"}],
        "odd": [],
    }
    assert releases(json.dumps({"releases": found}).encode()) == {(0, 9): "0.9.2", (0, 10): "0.10.0"}


def test_the_table_is_one_that_can_be_read() -> None:
    text = written({"peft": Names(module="peft", added="New 0.2", removed="Old 0.3")}, datetime.date(2026, 11, 29))
    assert msgspec.toml.decode(text, type=ReleaseNames, strict=False).package["peft"].removed == "Old 0.3"
