"""The shipped digits are intact, balanced and drawn as docs/render_digits.py draws them; and which digits are taken."""

import gzip
import hashlib
import importlib.util
import pkgutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy
import pytest

import gpudoctor
from gpudoctor.machine import Machine
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.smoketests.digits import Digits, DigitsError, digits, shipped
from tests.smoke import digit_files as files
from tests.smoke.digit_files import known

__all__ = ["known"]
PARENT = Path(gpudoctor.__file__).parent.parent
HOME = {"HOME": "/home/ada"}
TORCHVISION = "/home/ada/data/MNIST/raw"
OTHERS = (files.OTHER_IMAGES, files.OTHER_LABELS)


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


# -- which are taken -------------------------------------------------------------------------------------


def machine(contents: dict[str, bytes], **env: str) -> RecordedMachine:
    """A machine with these files."""
    return RecordedMachine(contents, env=HOME | env)


def pair(folder: str, gz: bool = True) -> dict[str, bytes]:
    """The two IDX files in a folder."""
    images, labels = files.idx()
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
    if gz:
        return {f"{folder}/{n}.gz": files.packed(d) for n, d in zip(names, (images, labels), strict=True)}
    return {f"{folder}/{n}": d for n, d in zip(names, (images, labels), strict=True)}


def is_other(found: Digits) -> bool:
    """Whether these are the digits of the files, and not the shipped ones."""
    assert (found.images, found.labels) in ((files.IMAGES, files.LABELS), OTHERS)
    return (found.images, found.labels) == OTHERS


def test_without_anything_the_shipped_digits_are_taken() -> None:
    assert digits(machine({})) == shipped()


@pytest.mark.parametrize("gz", [True, False])
@pytest.mark.parametrize(
    ("folder", "env", "source"),
    [
        (TORCHVISION, {}, "MNIST (torchvision's files, verified)"),
        ("/ssd/MNIST/raw", {"TORCH_HOME": "/ssd/torch"}, "MNIST (torchvision's files, verified)"),
        ("/ssd/digits", {"GPUDOCTOR_MNIST": "/ssd/digits"}, "MNIST (IDX files, verified)"),
        ("/ssd/digits/MNIST/raw", {"GPUDOCTOR_MNIST": "/ssd/digits"}, "MNIST (torchvision's files, verified)"),
    ],
)
def test_torchvisions_files_are_found(
    known: Callable[..., None], folder: str, env: dict[str, str], source: str, gz: bool
) -> None:
    contents = pair(folder, gz)
    known(*contents.values())
    found = digits(machine(contents, **env))
    assert is_other(found)
    assert found.source == source


@pytest.mark.parametrize("start", ["data/MNIST/raw", "MNIST/raw"])
def test_files_below_the_working_folder_are_found(
    known: Callable[..., None], start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / start
    folder.mkdir(parents=True)
    for path, data in pair(str(folder)).items():
        Path(path).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    known(*pair("").values())
    assert is_other(digits(Machine(env={})))
    assert is_other(digits(Machine(env={}), "."))
    assert not is_other(digits(Machine(root=str(tmp_path), env={})))


def test_raw_files_serve_where_the_archives_are_damaged(known: Callable[..., None]) -> None:
    raw = pair(TORCHVISION, gz=False)
    known(*raw.values())
    assert is_other(digits(machine(raw | dict.fromkeys(pair(TORCHVISION), b"\x1f\x8bcut"))))


def test_another_data_set_under_the_same_names_is_passed_over() -> None:
    contents = pair(TORCHVISION) | {"/home/ada/.keras/datasets/mnist.npz": files.npz()}
    assert digits(machine(contents)) == shipped()


def test_and_taken_where_the_user_names_it() -> None:
    found = digits(machine(pair(TORCHVISION)), "~/data")
    assert is_other(found)
    assert found.source == "IDX digits, unverified"


def test_labels_of_another_set_do_not_verify_images(known: Callable[..., None]) -> None:
    contents = pair(TORCHVISION, gz=False)
    known(*contents.values())
    contents[f"{TORCHVISION}/train-labels-idx1-ubyte"] = files.idx(labels=files.LABELS)[1]
    assert digits(machine(contents)) == shipped()


@pytest.mark.parametrize(
    ("path", "env"),
    [
        ("/home/ada/.keras/datasets/mnist.npz", {}),
        ("/ssd/keras/datasets/mnist.npz", {"KERAS_HOME": "/ssd/keras"}),
    ],
)
def test_kerass_file_is_found(known: Callable[..., None], path: str, env: dict[str, str]) -> None:
    known(archive=files.npz())
    found = digits(machine({path: files.npz()}, **env))
    assert is_other(found)
    assert found.source == "MNIST (Keras's file, verified)"


@pytest.mark.parametrize(
    ("folder", "env"),
    [("/home/ada/tensorflow_datasets/mnist/3.0.1", {}), ("/ssd/mnist/3.0.1", {"TFDS_DATA_DIR": "/ssd"})],
)
def test_the_file_of_tensorflow_datasets_is_found(folder: str, env: dict[str, str]) -> None:
    found = digits(machine({f"{folder}/mnist-train.tfrecord-00000-of-00001": files.tfrecord()}, **env))
    assert is_other(found)
    assert found.source == "MNIST (TensorFlow Datasets, unverified)"


PARQUET = "datasets--ylecun--mnist/snapshots/77f3/mnist/train-00000-of-00001.parquet"
ARROW = "ylecun___mnist/mnist/0.0.0/77f3/mnist-train.arrow"


@pytest.mark.parametrize(
    ("path", "env"),
    [
        (f"/home/ada/.cache/huggingface/hub/{PARQUET}", {}),
        (f"/ssd/hf/hub/{PARQUET}", {"HF_HOME": "/ssd/hf"}),
        (f"/ssd/cache/{PARQUET}", {"HF_HUB_CACHE": "/ssd/cache"}),
        (f"/ssd/xdg/huggingface/hub/{PARQUET}", {"XDG_CACHE_HOME": "/ssd/xdg"}),
        (f"/home/ada/.cache/huggingface/datasets/{ARROW}", {}),
        (f"/ssd/hf/datasets/{ARROW}", {"HF_HOME": "/ssd/hf"}),
        (f"/ssd/sets/{ARROW}", {"HF_DATASETS_CACHE": "/ssd/sets"}),
    ],
)
def test_what_hugging_face_keeps_is_found_and_read_by_the_examined_python(
    known: Callable[..., None], path: str, env: dict[str, str]
) -> None:
    known(*files.idx())
    there = RecordedMachine({path: b"PAR1"}, env=HOME | env, commands={"python": files.told()})
    assert digits(there) == shipped()
    assert there.ran == []
    found = digits(there, python="/env/bin/python")
    assert is_other(found)
    assert found.source == "MNIST (Hugging Face's file, labels verified)"
    (line,) = there.ran
    assert line.endswith(f"/read_digits.py {path} 256")


def test_other_labels_are_not_mnist() -> None:
    path = f"/home/ada/.cache/huggingface/hub/{PARQUET}"
    there = RecordedMachine({path: b"PAR1"}, env=HOME, commands={"python": files.told()})
    assert digits(there, python="/env/bin/python") == shipped()
    found = digits(there, path, "/env/bin/python")
    assert is_other(found)
    assert found.source == "digits of a Parquet file, unverified"


def test_a_folder_without_digits_is_refused() -> None:
    contents = {"/data/readme.txt": b"", "/data/mnist.npz/readme.txt": b""}
    with pytest.raises(DigitsError, match=r"^/data holds none of the files in which MNIST comes\.$"):
        digits(machine(contents), "/data")
    with pytest.raises(DigitsError, match=r"^/nowhere does not exist or cannot be reached\.$"):
        digits(machine(contents), "/nowhere")
    with pytest.raises(DigitsError, match=r"^/nowhere does not exist"):
        digits(machine(contents, GPUDOCTOR_MNIST="/nowhere"))


def test_what_is_named_counts_more_than_the_environment() -> None:
    contents = pair("/data") | {"/data/mnist.npz": b"PK"}
    assert is_other(digits(machine(contents, GPUDOCTOR_MNIST="/nowhere"), "/data"))


def test_the_first_reason_is_told_where_nothing_in_a_folder_can_be_used() -> None:
    contents = {"/data/mnist.npz": b"PK\3\4", "/data/mnist-train.tfrecord-00000-of-00001": b"x"}
    with pytest.raises(DigitsError, match=r"^/data/mnist\.npz: its zip archive is damaged"):
        digits(machine(contents), "/data")


def test_the_table_knows_the_real_files() -> None:
    """As in torchvision's and Keras's sources, where MD5 and SHA-256 stand."""
    from gpudoctor.knowledge.mnist import are_labels, is_mnist, mnist

    sums = [sum_ for row in mnist().idx for sum_ in (row.images, row.labels)] + [mnist().npz.sha256]
    assert len(set(sums)) == 9
    assert all(len(bytes.fromhex(sum_)) == hashlib.sha256().digest_size for sum_ in sums)
    first, second = mnist().idx[:2]
    assert is_mnist(first.images, first.labels)
    assert not is_mnist(first.images, second.labels)
    assert are_labels(first.labels)
    assert not are_labels(first.images)
