"""The shipped digits are intact, balanced and drawn as docs/render_digits.py draws them; and which digits are taken."""

import gzip
import importlib.util
import io
import os
import pkgutil
import random
import zipfile
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

import gpudoctor
from gpudoctor.machine import Machine
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.smoketests.digits import DigitsError, digits, shipped

PARENT = Path(gpudoctor.__file__).parent.parent


@pytest.fixture(scope="module")
def renderer() -> ModuleType:
    """docs/render_digits.py."""
    path = PARENT / "docs" / "render_digits.py"
    if not path.is_file():
        pytest.skip("not run from a source tree")
    spec = importlib.util.spec_from_file_location("docs_render_digits", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- the shipped digits ----------------------------------------------------------------------------------


def test_the_shipped_digits_are_like_mnist() -> None:
    found = shipped()
    assert found.source == "256 rendered digits"
    grey = numpy.frombuffer(found.images, numpy.uint8).reshape(256, 28, 28) / 255
    assert 0.13 <= grey.mean() <= 0.18
    assert 0.31 <= grey.std() <= 0.35
    assert (grey.reshape(256, -1).max(1) == 1).all()
    assert len({image.tobytes() for image in grey}) == 256


def test_every_digit_comes_equally_often_and_in_no_order() -> None:
    labels = shipped().labels
    assert set(Counter(labels).values()) == {25, 26}
    assert all(len(set(labels[at : at + 64])) == 10 for at in range(0, 256, 64))


def test_the_digits_can_be_drawn_again(renderer: ModuleType) -> None:
    images, labels = renderer.render()
    found = numpy.frombuffer(shipped().images, numpy.uint8).reshape(images.shape).astype(int)
    assert abs(found - images.astype(int)).max() <= 1
    assert labels.tobytes() == shipped().labels


def test_no_digit_is_near_where_rounding_decides(renderer: ModuleType) -> None:
    images = numpy.frombuffer(shipped().images, numpy.uint8).reshape(256, 28, 28)
    assert renderer.nearest_tie(images).min() >= renderer.TIE


def test_the_file_is_small_and_says_no_time() -> None:
    data = pkgutil.get_data("gpudoctor.smoketests", "digits.gz") or b""
    assert len(data) < 48_000
    assert data[4:8] == bytes(4)
    assert len(gzip.decompress(data)) == 256 * 785


def test_a_damaged_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    get = pkgutil.get_data

    def damaged(package: str, name: str) -> bytes | None:
        data = get(package, name) or b""
        return data[:1000] + bytes([data[1000] ^ 1]) + data[1001:] if name.endswith(".gz") else data

    monkeypatch.setattr(pkgutil, "get_data", damaged)
    with pytest.raises(
        DigitsError, match=r"^The digits that come with gpudoctor .* are damaged: reinstall gpudoctor\.$"
    ):
        digits(RecordedMachine())


# -- those that the user names -----------------------------------------------------------------------------

IMAGES = numpy.frombuffer(shipped().images, numpy.uint8).reshape(256, 28, 28)[::-1]
LABELS = numpy.frombuffer(shipped().labels, numpy.uint8)[::-1]


def npz(compressed: bool = False, **arrays: Any) -> bytes:
    """An archive with the shipped digits in the other order, as Keras's is laid out."""
    file = io.BytesIO()
    (numpy.savez_compressed if compressed else numpy.savez)(file, **({"x_train": IMAGES, "y_train": LABELS} | arrays))
    return file.getvalue()


def machine(data: bytes, path: str = "/data/mnist.npz", **env: str) -> RecordedMachine:
    """A machine with this file."""
    return RecordedMachine({path: data}, env=env)


def test_without_anything_the_shipped_digits_are_taken() -> None:
    assert digits(RecordedMachine()) == shipped()


@pytest.mark.parametrize("compressed", [False, True])
def test_a_named_archive_is_read(compressed: bool) -> None:
    more = numpy.concatenate([IMAGES, IMAGES]), numpy.concatenate([LABELS, LABELS])
    found = digits(machine(npz(compressed, x_train=more[0], y_train=more[1])), "/data/mnist.npz")
    assert (found.images, found.labels) == (IMAGES.tobytes(), LABELS.tobytes())
    assert found.source == "digits of a .npz file"


def test_an_archive_in_columns_is_read() -> None:
    """As numpy.savez writes an array that was turned, and with a header of version 2."""
    file = io.BytesIO()
    numpy.lib.format.write_array(file, numpy.asfortranarray(IMAGES), (2, 0))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("x_train.npy", file.getvalue())
        with zipfile.ZipFile(io.BytesIO(npz())) as usual:
            members.writestr("y_train.npy", usual.read("y_train.npy"))
    found = digits(machine(archive.getvalue()), "/data/mnist.npz")
    assert (found.images, found.labels) == (IMAGES.tobytes(), LABELS.tobytes())


def test_where_it_may_be_named() -> None:
    home = {"HOME": "/home/ada"}
    expected = IMAGES.tobytes()
    assert digits(machine(npz(), "/home/ada/m.npz", **home), "~/m.npz").images == expected
    assert digits(machine(npz(), "/d/m.npz", GPUDOCTOR_MNIST="/d/m.npz")).images == expected
    assert digits(machine(npz(), "/d/m.npz", GPUDOCTOR_MNIST="/nowhere"), "/d/m.npz").images == expected
    assert digits(machine(npz(), os.path.abspath("m.npz")), "m.npz").images == expected


NOT_DIGITS = {
    "IDX": (b"\0\0\x08\x03" + bytes(100), "not a .npz file; write one with numpy.savez("),
    "gzip": (b"\x1f\x8b", "not a .npz file; write one with numpy.savez("),
    "empty": (b"", "not a .npz file; write one with numpy.savez("),
    "cut": (npz()[:-100], "damaged, or not digits (File is not a zip file)."),
    "no member": (
        npz().replace(b"y_train.npy", b"z_train.npy"),
        "not digits (There is no item named 'y_train.npy' in the archive).",
    ),
    "objects": (
        npz(y_train=numpy.array([{}] * 256)),
        "x_train must be at least 256 images of 28 x 28 bytes, y_train a byte for each",
    ),
    "floats": (npz(x_train=IMAGES.astype("f4")), "x_train must be at least 256 images of 28 x 28 bytes"),
    "flat": (npz(x_train=IMAGES.reshape(256, 784)), "x_train must be at least 256 images of 28 x 28 bytes"),
    "number": (npz(x_train=numpy.uint8(1)), "x_train must be at least 256 images of 28 x 28 bytes"),
    "no array": (npz().replace(b"\x93NUMPY", b"\x93NUMBER"[:6]), "damaged, or not digits ("),
    "few": (npz(x_train=IMAGES[:10]), "x_train must be at least 256 images of 28 x 28 bytes"),
    "letters": (npz(y_train=LABELS + 20), "its first 256 labels must be 0 to 9"),
    "sorted": (npz(y_train=numpy.zeros(256, "u1")), "its first 256 labels must be 0 to 9, of at least 5 different"),
}


@pytest.mark.parametrize("name", NOT_DIGITS)
def test_anything_else_is_refused_in_a_sentence(name: str) -> None:
    data, why = NOT_DIGITS[name]
    with pytest.raises(DigitsError) as refused:
        digits(machine(data), "/data/mnist.npz")
    assert str(refused.value).startswith(f"/data/mnist.npz: {why}")
    assert str(refused.value).endswith(".")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DigitsError, match=r"^/nowhere: No such file or directory\.$"):
        digits(RecordedMachine(), "/nowhere")
    with pytest.raises(DigitsError, match=r": Is a directory\.$"):
        digits(Machine(env={}), str(tmp_path))
    with (tmp_path / "large.npz").open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(DigitsError, match=r"large\.npz: larger than 67108864 bytes\.$"):
        digits(Machine(env={}), str(tmp_path / "large.npz"))


def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = npz(compressed=True, x_train=numpy.zeros((100_000, 28, 28), "u1"))
    tracemalloc = pytest.importorskip("tracemalloc")
    tracemalloc.start()
    with pytest.raises(DigitsError, match="an array in it is larger than 67108864 bytes"):
        digits(machine(bomb), "/data/mnist.npz")
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_no_damage_crashes_it() -> None:
    """Bytes changed, cut and doubled at places drawn by chance: digits, or a sentence."""
    whole, chance, refused = npz(), random.Random(7), 0
    for _ in range(60):
        data = bytearray(whole)
        begin = chance.choice([chance.randrange(400), chance.randrange(len(data))])
        how = chance.randrange(3)
        if how == 0:
            data[begin] ^= 1 << chance.randrange(8)
        elif how == 1:
            del data[begin:]
        else:
            data[begin:begin] = data[: chance.randrange(300)]
        try:
            digits(machine(bytes(data)), "/data/mnist.npz")
        except DigitsError:
            refused += 1
    assert refused > 3
