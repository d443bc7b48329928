"""The script that reads Parquet and Arrow files: without pyarrow here, with it in an environment of its own."""

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import gpudoctor

SCRIPT = Path(gpudoctor.__file__).parent / "workers" / "read_digits.py"
_UV = Path(sys.executable).with_name("uv")


def asked(python: str, path: Path, count: int = 256) -> dict[str, object]:
    """What the script prints."""
    ended = subprocess.run([python, str(SCRIPT), str(path), str(count)], capture_output=True, text=True, check=True)
    (line,) = ended.stdout.splitlines()
    told: dict[str, object] = json.loads(line)
    return told


def test_without_pyarrow_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    (tmp_path / "pyarrow.py").write_text("raise ImportError('libarrow.so.99 is missing')")
    code = f"import sys, runpy; sys.path[:0] = ['', {str(tmp_path)!r}]; sys.argv[1:] = ['x.parquet', '1']; "
    code += f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    why = "it takes pyarrow, which this Python does not have (libarrow.so.99 is missing)"
    assert json.loads(ended.stdout) == {"error": why}


WRITE = """
import pyarrow, pyarrow.ipc, pyarrow.parquet, sys
folder, rows = sys.argv[1], 600
kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
images = pyarrow.array([{"bytes": b"image %d" % at, "path": None} for at in range(rows)], kind)
table = pyarrow.table({"image": images, "label": pyarrow.array([at % 10 for at in range(rows)], pyarrow.int64())})
pyarrow.parquet.write_table(table, folder + "/groups.parquet", row_group_size=100)
with pyarrow.ipc.new_stream(folder + "/stream.arrow", table.schema) as file:
    file.write_table(table, max_chunksize=100)
with pyarrow.ipc.new_file(folder + "/file.arrow", table.schema) as file:
    file.write_table(table, max_chunksize=100)
words = pyarrow.table({"image": images, "label": pyarrow.array([str(at) for at in range(rows)])})
pyarrow.parquet.write_table(words, folder + "/words.parquet")
pyarrow.parquet.write_table(table.rename_columns(["picture", "class"]), folder + "/names.parquet")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with pyarrow."""
    place = tmp_path_factory.mktemp("environment")
    path = str(place / "bin/python")
    subprocess.run([_UV, "venv", "-q", "--python", sys.executable, place], check=True)
    subprocess.run([_UV, "pip", "install", "-q", "--python", path, "pyarrow"], check=True)
    return path


@pytest.mark.realenv
def test_with_pyarrow_it_reads_the_first_images_and_all_labels(python: str, tmp_path: Path) -> None:
    subprocess.run([python, "-c", WRITE, str(tmp_path)], check=True)
    sums = set()
    for name in ("groups.parquet", "stream.arrow", "file.arrow"):
        told = asked(python, tmp_path / name)
        assert isinstance(told["images"], list)
        assert [base64.b64decode(image) for image in told["images"]] == [b"image %d" % at for at in range(256)]
        assert told["labels"] == [at % 10 for at in range(256)]
        sums.add(told["sum"])
    assert sums == {hashlib.sha256(b"\0\0\x08\x01\0\0\x02\x58" + bytes(range(10)) * 60).hexdigest()}
    assert asked(python, tmp_path / "words.parquet") == {"error": "its labels are not small numbers"}
    assert str(asked(python, tmp_path / "names.parquet")["error"]).startswith("pyarrow cannot read it (")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "groups.parquet").read_bytes()[:500])
    assert str(asked(python, tmp_path / "cut.parquet")["error"]).startswith("pyarrow cannot read it (")
