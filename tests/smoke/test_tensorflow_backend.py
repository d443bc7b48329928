"""TensorFlow's backend on a TensorFlow that is played: the device, switches, the turned weights; and on a real GPU."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpudoctor.workers.smoke.backends import tensorflow
from gpudoctor.workers.smoke.backends.tensorflow_network import layers, turned, unturned
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.weights import CNN, MLP, Weights
from tests.smoke.xla_kit import with_gpu, worked

GIB = 1 << 30


class Experimental(SimpleNamespace):
    """tf.config.experimental."""

    def tensor_float_32_execution_enabled(self) -> bool:
        return bool(self.tf32)

    def enable_tensor_float_32_execution(self, allowed: bool) -> None:
        self.tf32 = allowed

    def set_memory_growth(self, gpu: Any, on: bool) -> None:
        self.growing.append((gpu, on))

    def get_device_details(self, gpu: Any) -> dict[str, Any]:
        return {"device_name": f"NVIDIA {gpu}", "compute_capability": (8, 6)}

    def get_memory_info(self, device: str) -> dict[str, int]:
        assert device == "GPU:0"
        return {"current": 1 * GIB, "peak": 3 * GIB}


class Place:
    """tf.device."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class Played:
    """A TensorFlow with these GPUs, that computes where it wants."""

    def __init__(self) -> None:
        self.gpus, self.hidden, self.with_gpus = ["A40", "A10"], False, True
        self.computes_on = "/job:localhost/replica:0/task:0/device:GPU:0"
        self.build = {"is_cuda_build": True, "is_rocm_build": False}
        self.module = SimpleNamespace(
            __version__="2.21.0",
            config=SimpleNamespace(
                experimental=Experimental(tf32=True, growing=[]),
                list_physical_devices=lambda kind: self.gpus,
                set_visible_devices=self.hide,
            ),
            test=SimpleNamespace(
                is_built_with_gpu_support=lambda: self.with_gpus,
                experimental=SimpleNamespace(sync_devices=lambda: None),
            ),
            sysconfig=SimpleNamespace(get_build_info=lambda: self.build),
            device=Place,
            function=lambda f: f,
            constant=lambda values: values,
            matmul=lambda a, b: SimpleNamespace(device=self.computes_on),
        )

    def hide(self, devices: list[Any], kind: str) -> None:
        self.hidden = (devices, kind) == ([], "GPU")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    """A TensorFlow that can be imported, on a machine with two GPUs and no driver's library."""
    found = Played()
    monkeypatch.setitem(sys.modules, "tensorflow", found.module)
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr("gpudoctor.workers.smoke.backends.chip._library", lambda kind: None)
    return found


# -- the device ---------------------------------------------------------------------------------------------------


def test_what_is_told_of_a_gpu(played: Played) -> None:
    backend = tensorflow.TensorflowBackend({"kind": "cuda", "device": 0, "memory_free": 20 * GIB})
    about = backend.start()
    assert about.pop("threads") >= 1
    assert about == {
        "kind": "cuda",
        "name": "NVIDIA A40",
        "processors": None,
        "copy_engines": None,
        "memory_free": 19 * GIB,
    }
    assert played.module.config.experimental.growing == [("A40", True), ("A10", True)]
    assert os.environ["KERAS_BACKEND"] == "tensorflow"
    assert not played.hidden


def test_free_memory_is_the_drivers_and_what_the_allocator_keeps(played: Played) -> None:
    backend = tensorflow.TensorflowBackend({"kind": "cuda", "memory_free": 20 * GIB})
    backend.start()
    backend.chip = SimpleNamespace(free=lambda: 30 * GIB)  # type: ignore[assignment]
    assert backend.free() == 32 * GIB


def test_the_gpu_that_the_task_names(played: Played) -> None:
    assert tensorflow.TensorflowBackend({"kind": "cuda", "device": 1}).place == "/GPU:1"


def test_amds_gpus(played: Played) -> None:
    played.build["is_rocm_build"] = True
    assert tensorflow.TensorflowBackend({"kind": "rocm"}).start()["kind"] == "rocm"


def test_on_the_cpu_gpus_are_hidden(played: Played) -> None:
    backend = tensorflow.TensorflowBackend({"kind": "cpu"})
    assert (backend.start()["kind"], backend.place, played.hidden) == ("cpu", "/CPU:0", True)
    with pytest.raises(Unsupported, match="Copies between GPUs need two"):
        backend.peers()
    with pytest.raises(Unsupported, match="needs two GPUs, and this is the CPU"):
        backend.allreduce(4096, lambda: None)


def test_work_that_lands_elsewhere_is_an_error(played: Played) -> None:
    played.computes_on = "/job:localhost/replica:0/task:0/device:CPU:0"
    with pytest.raises(RuntimeError, match=r"used .*CPU:0 instead of /GPU:0"):
        tensorflow.TensorflowBackend({"kind": "cuda"}).start()


@pytest.mark.parametrize(
    ("gpus", "with_gpus", "message"),
    [
        ([], False, "TensorFlow 2.21.0 was built without support for GPUs."),
        ([], True, "tf.config.list_physical_devices('GPU') is empty; TensorFlow's log shows why."),
        (["A40"], True, "TensorFlow lists 1 GPUs, but no GPU 1."),
    ],
)
def test_no_gpu(played: Played, gpus: list[str], with_gpus: bool, message: str) -> None:
    played.gpus, played.with_gpus = gpus, with_gpus
    with pytest.raises(Unsupported) as found:
        tensorflow.TensorflowBackend({"kind": "cuda", "device": 1}).start()
    assert str(found.value) == message


@pytest.mark.parametrize(("devices", "count"), [(None, 2), (1, 1), (8, 2)])
def test_no_more_peers_than_the_task_permits(played: Played, devices: int | None, count: int) -> None:
    assert tensorflow.TensorflowBackend({"kind": "cuda", "devices": devices}).peers() == count


@pytest.mark.parametrize(("kind", "message"), [("cpu", "this is the CPU"), ("cuda", "no public API for pinned memory")])
def test_no_pinned_memory(played: Played, kind: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        tensorflow.TensorflowBackend({"kind": kind}).transfer(4096, True)


@pytest.mark.parametrize(("dtype", "allowed"), [("fp32", False), ("tf32", True), ("fp16", False), ("bf16", False)])
@pytest.mark.parametrize("before", [True, False])
def test_tf32_is_set_and_put_back(played: Played, dtype: str, allowed: bool, before: bool) -> None:
    config = played.module.config.experimental
    config.tf32 = before
    backend = tensorflow.TensorflowBackend({"kind": "cuda"})
    backend.start()
    with backend.precision(dtype):
        assert config.tf32 is allowed
    assert config.tf32 is before


def test_tf32_is_put_back_after_an_error(played: Played) -> None:
    backend = tensorflow.TensorflowBackend({"kind": "cuda"})
    with pytest.raises(ZeroDivisionError), backend.precision("fp32"):
        raise ZeroDivisionError
    assert played.module.config.experimental.tf32 is True


def test_no_fp8(played: Played) -> None:
    backend = tensorflow.TensorflowBackend({"kind": "cuda"})
    with pytest.raises(Unsupported, match="TensorFlow has no matmul in fp8"), backend.precision("fp8"):
        pass


# -- the weights ----------------------------------------------------------------------------------------------------


def arrays(kind: Any) -> list[Any]:
    weights = Weights(kind)
    return [np.frombuffer(b, np.float32).reshape(s) for b, s in zip(weights.buffers, weights.shapes, strict=True)]


@pytest.mark.parametrize("kind", [CNN, MLP])
def test_weights_come_back_as_they_went(kind: Any) -> None:
    first = arrays(kind)
    back = unturned(turned(first), [a.shape for a in first])
    assert all(np.array_equal(one, other) for one, other in zip(first, back, strict=True))


def test_keras_order_of_the_weights() -> None:
    first = arrays(CNN)
    conv1, _, conv2, _, fc1, bias, fc2, _ = turned(first)
    assert [a.shape for a in (conv1, conv2, fc1, fc2)] == [(5, 5, 1, 16), (5, 5, 16, 32), (512, 128), (128, 10)]
    assert conv2[3, 1, 7, 9] == first[2][9, 7, 3, 1]
    assert fc2[100, 3] == first[6][3, 100]
    assert bias is first[5]
    # Behind the convolutions Keras flattens rows, columns and channels, the others channels, rows and columns.
    images = np.random.default_rng(1).standard_normal((2, 32, 4, 4)).astype(np.float32)
    there, here = images.transpose(0, 2, 3, 1).reshape(2, -1) @ fc1, images.reshape(2, -1) @ first[4].T
    assert np.allclose(there, here, atol=1e-5)


class Layers:
    """keras.layers: each layer as its name and what it was told."""

    def __getattr__(self, name: str) -> Any:
        return lambda *sizes, **reported: (name, sizes, reported)


def test_the_layers_are_those_of_the_references() -> None:
    keras = SimpleNamespace(layers=Layers(), Sequential=list)
    made = layers(keras, Weights(CNN).shapes, "mixed_float16")
    assert [(name, sizes) for name, sizes, _ in made] == [
        ("Input", ((28, 28, 1),)),
        ("Conv2D", (16, 5)),
        ("MaxPooling2D", (2,)),
        ("Conv2D", (32, 5)),
        ("MaxPooling2D", (2,)),
        ("Flatten", ()),
        ("Dense", (128,)),
        ("Dense", (10,)),
    ]
    assert {reported["dtype"] for _, _, reported in made[1:]} == {"mixed_float16"}
    assert [reported.get("activation") for _, _, reported in made] == [
        None,
        "relu",
        None,
        "relu",
        None,
        None,
        "relu",
        None,
    ]


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_the_quick_suite_on_a_gpu() -> None:
    tests = "matmul mnist transfer mixed-precision fused bandwidth inference"
    found = worked(with_gpu("tensorflow"), "tensorflow", tests, kind="cuda")
    assert {t.outcome for t in found.tests} <= {"done", "unsupported"}, [t.message for t in found.tests]
    errors = {v: t.figures["error"] for v, t in found["matmul"].items() if t.outcome == "done"}
    most = {"fp32": 1e-5, "tf32": 1.5e-3, "fp16": 4e-4, "bf16": 3e-3}
    assert {v: e for v, e in errors.items() if e > most[v]} == {}
    assert "tf32" not in errors or errors["tf32"] > 5e-5  # else it is float32
    assert found.only("mnist").figures["gradient error"] < 1e-4
    copies = found.only("transfer")
    assert (copies.notes["differing"], copies.notes["pieces_differing"]) == (0, 0)
    assert max(copies.figures["h2d pageable"], copies.figures["d2h pageable"]) < 1000  # no copy that was kept
    assert found.only("bandwidth").notes["wrong"] == 0
    assert found["fused"]["XLA"].figures["error"] < 1e-5
