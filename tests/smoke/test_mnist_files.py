"""Each format of digits: read as it is written, and one sentence for everything that can be wrong with a file."""

import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.machine import Machine
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.smoketests.digits import DigitsError, digits, shipped
from gpudoctor.smoketests.mnist_png import decode
from gpudoctor.smoketests.mnist_tfrecord import masked_sum
from tests.smoke import digit_files as files

IMAGES, LABELS = files.idx()
ONE = files.OTHER_IMAGES[:784]


def taken(contents: dict[str, bytes], path: str, python: str | None = None, answer: str | ChildResult = "") -> bool:
    """Whether the digits of a file that the user names are read as they were written."""
    found = digits(RecordedMachine(contents, commands={"python": answer}), path, python)
    return (found.images, found.labels) == (files.OTHER_IMAGES, files.OTHER_LABELS)


def refused(contents: dict[str, bytes], path: str, python: str | None = None, answer: str | ChildResult = "") -> str:
    """The sentence with which a file that the user names is refused; without its path."""
    with pytest.raises(DigitsError) as error:
        taken(contents, path, python, answer)
    text = str(error.value)
    assert text.startswith(path.rpartition("/")[0])
    assert text.endswith(".")
    assert "\n" not in text
    return text.partition(": ")[2]


# -- IDX -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [bytes, files.packed])
@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        ("train-images.idx3-ubyte", "train-labels.idx1-ubyte"),
        ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
    ],
)
def test_a_pair_of_files_is_read_whichever_is_named(images: str, labels: str, change: Callable[[bytes], bytes]) -> None:
    contents = {f"/d/{images}": change(IMAGES), f"/d/{labels}": change(LABELS)}
    assert taken(contents, f"/d/{images}")
    assert taken(contents, f"/d/{labels}")


def head(count: int, *sizes: int, magic: int = 0x803) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in (magic, count, *sizes))


DAMAGED = {
    "empty": (b"", LABELS, "it is no IDX file of images."),
    "only a beginning": (IMAGES[:7], LABELS, "it is no IDX file of images."),
    "labels for images": (LABELS, LABELS, "it is no IDX file of images."),
    "images for labels": (IMAGES, IMAGES, "it is no IDX file of labels."),
    "floats": (head(256, 28, 28, magic=0xD03) + IMAGES[16:], LABELS, "it is no IDX file of images."),
    "little-endian": (IMAGES[3::-1] + IMAGES[4:], LABELS, "it is no IDX file of images."),
    "cut short": (IMAGES[:-1], LABELS, "it holds 255 digits, and the training step needs 256."),
    "few labels": (IMAGES, LABELS[:40], "it holds 32 digits, and the training step needs 256."),
    "few are claimed": (head(3, 28, 28) + IMAGES[16:], LABELS, "it holds 3 digits, and the training step needs 256."),
    "other size": (head(256, 32, 32) + IMAGES[16:], LABELS, "its images are 32 x 32, not 28 x 28."),
    "letters": (IMAGES, LABELS[:-1] + b"\x1a", "a label is 26, and those of digits go from 0 to 9."),
    "sorted": (
        IMAGES,
        LABELS[:8] + bytes([3] * 128 + [4] * 128),
        "its first 256 labels name only 2 different digits.",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("change", [bytes, files.packed])
def test_a_wrong_pair_is_refused_in_a_sentence(name: str, change: Callable[[bytes], bytes]) -> None:
    images, labels, why = DAMAGED[name]
    contents = {"/d/images-idx3": change(images), "/d/labels-idx1": change(labels)}
    assert refused(contents, "/d/images-idx3") == why


def test_more_is_claimed_than_there_is() -> None:
    contents = {"/d/images-idx3": head(0xFFFFFFFF, 28, 28) + IMAGES[16:], "/d/labels-idx1": LABELS}
    assert taken(contents, "/d/images-idx3")
    contents["/d/images-idx3"] = head(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF) + IMAGES[16:]
    assert refused(contents, "/d/images-idx3") == "its images are 4294967295 x 4294967295, not 28 x 28."


def test_a_gzip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    bomb = IMAGES + bytes(300 << 20)
    contents = {"/d/images-idx3": gzip.compress(bomb, 1), "/d/labels-idx1": files.packed(LABELS)}
    del bomb
    tracemalloc = pytest.importorskip("tracemalloc")
    tracemalloc.start()
    assert taken(contents, "/d/images-idx3")
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refused({"/d/images-idx3": IMAGES}, "/d/images-idx3") == "No such file or directory."
    there = RecordedMachine({"/d/images-idx3": IMAGES}, errors={"/d/images-idx3": "EACCES"})
    with pytest.raises(DigitsError, match=r"^/d/images-idx3: Permission denied\.$"):
        digits(there, "/d/images-idx3")
    large = tmp_path / "images-idx3"
    with large.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(DigitsError, match=r"images-idx3: larger than 67108864 bytes\.$"):
        digits(Machine(env={}), str(large))


# -- NumPy's archive -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_archive_is_read(how: int, version: int) -> None:
    members = {"x_train": files.npy(files.OTHER_IMAGES, "(256, 28, 28)", version=version)}
    assert taken({"/d/m.npz": files.npz(how, **members)}, "/d/m.npz")


def without_labels() -> bytes:
    return files.npz().replace(b"y_train.npy", b"z_train.npy")


NOT_ARRAYS = {
    "no array": (files.npz(x_train=b"x" * 4000), "x_train is no array that NumPy wrote."),
    "empty": (files.npz(x_train=b""), "x_train is no array that NumPy wrote."),
    "no header": (files.npz(x_train=b"\x93NUMPY\1\0"), "x_train is no array that NumPy wrote."),
    "endless header": (files.npz(x_train=b"\x93NUMPY\2\0" + b"\xff" * 4000), "x_train is no array that NumPy wrote."),
    "a call": (files.npz(x_train=files.npy(b"", "exit()")), "x_train is no array that NumPy wrote."),
    "objects": (
        files.npz(y_train=files.npy(b"cos\nsystem\n", "(256,)", "|O")),
        "y_train is not an array of unsigned bytes in 1 dimensions.",
    ),
    "floats": (
        files.npz(x_train=files.npy(b"", "(256, 28, 28)", "<f4")),
        "x_train is not an array of unsigned bytes in 3 dimensions.",
    ),
    "the other order": (
        files.npz(x_train=files.npy(files.OTHER_IMAGES, "(256, 28, 28)", order="True")),
        "x_train is not an array of unsigned bytes in 3 dimensions.",
    ),
    "flat": (
        files.npz(x_train=files.npy(files.OTHER_IMAGES, "(256, 784)")),
        "x_train is not an array of unsigned bytes in 3 dimensions.",
    ),
    "colours": (files.npz(x_train=files.npy(b"", "(9, 32, 32)")), "its images are 32 x 32, not 28 x 28."),
    "no member": (without_labels(), "it has no y_train.npy."),
    "half": (
        files.npz(x_train=files.npy(files.OTHER_IMAGES[:7840], "(256, 28, 28)")),
        "it holds 10 digits, and the training step needs 256.",
    ),
    "lzma": (
        files.npz(zipfile.ZIP_LZMA),
        "its zip archive is damaged (compressed otherwise than by deflate).",
    ),
}


@pytest.mark.parametrize("name", NOT_ARRAYS)
def test_a_wrong_archive_is_refused_in_a_sentence(name: str) -> None:
    data, why = NOT_ARRAYS[name]
    assert refused({"/d/m.npz": data}, "/d/m.npz") == why


def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = files.npz(x_train=files.npy(files.OTHER_IMAGES + bytes(200 << 20), "(300000, 28, 28)"))
    tracemalloc = pytest.importorskip("tracemalloc")
    tracemalloc.start()
    assert taken({"/d/m.npz": bomb}, "/d/m.npz")
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


# -- PNG, and what holds it --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", range(5))
def test_every_filter_of_png_is_undone(kind: int) -> None:
    noise = random.Random(kind).randbytes(784)
    for pixels in (ONE, noise):
        assert decode(files.png(pixels, kind)) == pixels


PICTURE = files.png(ONE)
NOT_PNG = {
    "empty": (b"", "is no PNG"),
    "JPEG": (b"\xff\xd8\xff\xe0", "is no PNG"),
    "only the signature": (PICTURE[:8], "has no PNG header"),
    "cut": (PICTURE[:33], "is cut short"),
    "cut in a chunk": (PICTURE[:60], "is damaged"),
    "one bit": (PICTURE[:50] + bytes([PICTURE[50] ^ 1]) + PICTURE[51:], "is damaged"),
    "size": (files.png(ONE, size=(56, 14)), "are 14 x 56, not 28 x 28"),
    "enormous": (files.png(ONE, size=(1 << 31, 1 << 31)), "are 2147483648 x 2147483648, not 28 x 28"),
    "16 bits": (files.png(ONE, depth=16), "is no plain 8-bit grey"),
    "colours": (files.png(ONE, colour=2), "is no plain 8-bit grey"),
    "few rows": (files.png(ONE[:-28]), "is cut short"),
}


@pytest.mark.parametrize("name", NOT_PNG)
def test_a_wrong_image_is_refused(name: str) -> None:
    data, why = NOT_PNG[name]
    with pytest.raises(ValueError, match=why):
        decode(data)


def test_the_check_sum_of_records() -> None:
    """CRC-32C of "123456789" is 0xe3069283 (RFC 3720, B.4 gives the polynomial); TensorFlow turns and shifts it."""
    crc = 0xE3069283
    assert masked_sum(b"123456789") == (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def records(*some: bytes) -> bytes:
    return b"".join(files.record(each) for each in some)


def test_labels_of_both_encodings_are_read() -> None:
    pairs = ((files.OTHER_IMAGES[at * 784 : at * 784 + 784], files.OTHER_LABELS[at]) for at in range(256))
    data = records(*(files.example(files.png(image), label, packed_label=False) for image, label in pairs))
    assert taken({"/d/x.tfrecord": data}, "/d/x.tfrecord")


NOT_RECORDS = {
    "empty": (b"", "it holds 0 digits, and the training step needs 256."),
    "text": (b"MNIST\n" * 100, "it is no TFRecord file, or damaged."),
    "few": (files.tfrecord(5), "it holds 5 digits, and the training step needs 256."),
    "cut": (files.tfrecord(5)[:-3], "it is no TFRecord file, or damaged."),
    "one bit": (b"\0".join(files.tfrecord(2).split(b"\1", 1)), "it is no TFRecord file, or damaged."),
    "endless": (b"\xff" * 100, "it is no TFRecord file, or damaged."),
    "no example": (records(b"\xff" * 30), "its records are no examples."),
    "floats": (records(b"\x0d1234"), "its records are no examples."),
    "no image": (records(files.field(1, files.field(1, files.field(1, b"label")))), "its records have no 'image'."),
    "no label": (records(files.example(PICTURE, None)), "one of its records has no label."),
    "no picture": (records(files.example(b"BM", 1)), "one of its images is no PNG."),
}


@pytest.mark.parametrize("name", NOT_RECORDS)
def test_wrong_records_are_refused_in_a_sentence(name: str) -> None:
    data, why = NOT_RECORDS[name]
    assert refused({"/d/x.tfrecord": data}, "/d/x.tfrecord") == why


# -- Parquet and Arrow -------------------------------------------------------------------------------------

PYTHON = "/env/bin/python"
ANSWERS: dict[str, tuple[str | ChildResult, str]] = {
    "no pyarrow": ('{"error": "it takes pyarrow"}', "it takes pyarrow."),
    "nothing": ("", "the Python that should read it failed (exit code 0)."),
    "no JSON": ("Segmentation fault", "the Python that should read it failed (exit code 0)."),
    "other JSON": ('{"images": 7}', "the Python that should read it failed (exit code 0)."),
    "a crash": (ChildResult(argv=(), signal="SIGSEGV"), "the Python that should read it failed (SIGSEGV)."),
    "a hang": (ChildResult(argv=(), timed_out=True), "the Python that should read it failed (it did not answer)."),
    "an error": (
        ChildResult(argv=(), code=1, err="Traceback\nMemoryError\n"),
        "the Python that should read it failed (MemoryError).",
    ),
    "no Python": (
        ChildResult(argv=(), missing="no such program"),
        "the Python that should read it failed (no such program).",
    ),
    "few": (files.told(labels=[1, 2, 3]), "it holds 3 digits, and the training step needs 256."),
    "large labels": (files.told(labels=[1, 300]), "bytes must be in range(0, 256)."),
    "no base64": (files.told(images=["%"]), "one of its images is no PNG."),
    "letters": (files.told(labels=[30] * 256), "a label is 30, and those of digits go from 0 to 9."),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_examined_python_may_answer(name: str) -> None:
    answer, why = ANSWERS[name]
    assert refused({"/d/x.parquet": b"PAR1"}, "/d/x.parquet", PYTHON, answer) == why


def test_parquet_takes_a_python() -> None:
    assert refused({"/d/x.parquet": b"PAR1"}, "/d/x.parquet") == (
        "it takes a Python with pyarrow, and none is examined."
    )
    assert taken({"/d/x.parquet": b"PAR1"}, "/d/x.parquet", PYTHON, files.told())
    assert taken({"/d/x": b"ARROW1\0\0"}, "/d/x", PYTHON, files.told())
    assert taken({"/d/x": b"\xff\xff\xff\xff\x10"}, "/d/x", PYTHON, files.told())


# -- anything at all ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["images-idx3", "packed-images-idx3", "m.npz", "x.tfrecord"])
def test_no_damage_crashes_it(name: str) -> None:
    """Bytes changed, cut and doubled at places drawn by chance: digits, or a sentence."""
    whole = {
        "images-idx3": IMAGES,
        "packed-images-idx3": files.packed(IMAGES),
        "m.npz": files.npz(),
        "x.tfrecord": files.tfrecord(),
    }[name]
    chance = random.Random(name)
    ends = {"read": 0, "refused": 0}
    for _ in range(12 if name == "x.tfrecord" else 60):  # its check sums take Python a while
        data = bytearray(whole)
        begin = chance.choice([chance.randrange(min(400, len(data))), chance.randrange(len(data))])
        how = chance.randrange(3)
        if how == 0:
            data[begin] ^= 1 << chance.randrange(8)
        elif how == 1:
            del data[begin:]
        else:
            data[begin:begin] = data[: chance.randrange(300)]
        contents = {f"/d/{name}": bytes(data), "/d/labels-idx1": LABELS, "/d/packed-labels-idx1": files.packed(LABELS)}
        try:
            digits(RecordedMachine(contents), f"/d/{name}")
            ends["read"] += 1
        except DigitsError:
            ends["refused"] += 1
    assert ends["refused"] > 3
    assert digits(RecordedMachine({})) == shipped()
