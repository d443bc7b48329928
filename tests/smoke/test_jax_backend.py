"""JAX's backend on a JAX that is played: which device it takes, what it tells, what it refuses; and on a real GPU."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends import jax
from gpudoctor.workers.smoke.backends.jax import platform, transfer
from gpudoctor.workers.smoke.runner import Unsupported
from tests.smoke.xla_kit import with_gpu, worked

NO_GPU = "Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present"
GIB = 1 << 30


class Array(SimpleNamespace):
    """An array on a device."""

    def block_until_ready(self) -> "Array":
        return self


class Config:
    """JAX's configuration of a release that has these names."""

    def __init__(self, *names: str) -> None:
        self.jax_platforms = "cuda"
        self.names, self.set = names, dict[str, Any]()

    def update(self, name: str, value: Any) -> None:
        if name not in self.names:
            raise AttributeError(f"Unrecognized config option: {name}")
        self.set[name] = value


class Played(SimpleNamespace):
    """A JAX with these devices by platform."""

    def local_devices(self, backend: str) -> list[Any]:
        if backend not in self.platforms:
            raise self.error
        return list(self.platforms[backend])


def gpu(version: str = "cuda 12090", capability: str = "9.0", **stats: int) -> Any:
    client = SimpleNamespace(platform_version=f"PJRT C API\n{version}")
    return SimpleNamespace(
        client=client,
        compute_capability=capability,
        device_kind="NVIDIA H100 80GB HBM3",
        core_count=132,
        memory_stats=lambda: stats,
    )


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    """A JAX that can be imported, on a machine with two GPUs and no driver's library."""
    config = Config("jax_enable_compilation_cache", "jax_platforms", "jax_cpu_enable_async_dispatch")
    platforms = {"cpu": [SimpleNamespace()], "gpu": [gpu(bytes_limit=60 * GIB), gpu(capability="8.6")]}
    found = Played(
        __version__="0.10.2",
        config=config,
        platforms=platforms,
        error=RuntimeError(NO_GPU),
        device_put=lambda values, device: Array(device=device),
        block_until_ready=lambda _: None,
    )
    monkeypatch.setitem(sys.modules, "jax", found)
    monkeypatch.setitem(sys.modules, "jax.numpy", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", SimpleNamespace(_backend_errors={}))
    monkeypatch.setattr("gpudoctor.workers.smoke.backends.chip._library", lambda kind: None)
    return found


def test_the_gpu_that_the_task_names(played: Played) -> None:
    backend = jax.JaxBackend({"kind": "cuda", "device": 1})
    assert backend.start()["kind"] == "cuda"
    assert (backend.device, backend.capability) == (played.platforms["gpu"][1], (8, 6))
    assert played.config.set == {"jax_enable_compilation_cache": False}


def test_what_is_told_of_a_gpu(played: Played) -> None:
    about = jax.JaxBackend({"kind": "cuda"}).start()
    assert about.pop("threads") >= 1
    assert about == {
        "kind": "cuda",
        "name": "NVIDIA H100 80GB HBM3",
        "processors": 132,
        "copy_engines": None,
        "memory_free": 60 * GIB,
    }


def test_amds_gpus(played: Played) -> None:
    played.platforms["gpu"] = [gpu("rocm 60300", "gfx942")]
    backend = jax.JaxBackend({"kind": "rocm"})
    assert (backend.start()["kind"], backend.capability) == ("rocm", None)


def test_on_the_cpu_no_gpu_is_touched_and_nothing_runs_beside(played: Played) -> None:
    backend = jax.JaxBackend({"kind": "cpu"})
    assert backend.start()["kind"] == "cpu"
    assert backend.device is played.platforms["cpu"][0]
    assert played.config.set["jax_platforms"] == "cpu"
    assert played.config.set["jax_cpu_enable_async_dispatch"] is False
    with pytest.raises(Unsupported, match="Copies between GPUs need two"):
        backend.peers()


def test_a_release_without_a_setting(played: Played) -> None:
    played.config.names = ("jax_platforms",)
    assert jax.JaxBackend({"kind": "cpu"}).start()["kind"] == "cpu"
    assert played.config.set == {"jax_platforms": "cpu"}


@pytest.mark.parametrize(
    ("tests", "flags"),
    [([], "--other"), *((name, "--other " + platform.SPLIT) for name in (["allreduce"], ["peer", "data-parallel"]))],
)
def test_the_cpu_is_split_for_sums_alone(
    played: Played, monkeypatch: pytest.MonkeyPatch, tests: list[str], flags: str
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--other")
    jax.JaxBackend({"kind": "cpu", "tests": tests})
    assert os.environ["XLA_FLAGS"] == flags


@pytest.mark.parametrize(
    ("error", "kept", "message"),
    [
        (RuntimeError(NO_GPU), {}, NO_GPU),
        (RuntimeError(NO_GPU), {"tpu": "no TPU"}, NO_GPU),
        (RuntimeError(NO_GPU), {"cuda": "No cuPTI.\n"}, f"{NO_GPU}. cuda: No cuPTI."),
        (AssertionError(), {}, "JAX cannot initialize any of the platforms cuda"),
    ],
)
def test_no_gpu_is_told_in_jaxs_words(
    played: Played, monkeypatch: pytest.MonkeyPatch, error: Exception, kept: dict[str, str], message: str
) -> None:
    monkeypatch.setattr(sys.modules["jax._src.xla_bridge"], "_backend_errors", kept)
    del played.platforms["gpu"]
    played.error = error
    with pytest.raises(Unsupported) as found:
        jax.JaxBackend({"kind": "cuda"}).start()
    assert str(found.value) == message


def test_a_number_that_no_device_has(played: Played) -> None:
    with pytest.raises(Unsupported, match="JAX sees 2 devices, but no device 2"):
        jax.JaxBackend({"kind": "cuda", "device": 2}).start()


@pytest.mark.parametrize(("task", "count"), [({}, 2), ({"devices": 1}, 1), ({"devices": 8}, 2)])
def test_no_more_peers_than_the_task_permits(played: Played, task: dict[str, Any], count: int) -> None:
    backend = jax.JaxBackend({"kind": "cuda", **task})
    assert backend.peers() == count


@pytest.mark.parametrize(
    ("words", "found"), [("9.0", (9, 0)), ("12.0", (12, 0)), ("gfx942", None), ("gfx90a:sramecc+", None), (None, None)]
)
def test_compute_capabilities(words: str | None, found: tuple[int, int] | None) -> None:
    assert platform.capability(SimpleNamespace(compute_capability=words)) == found
    assert platform.capability(SimpleNamespace()) is None


@pytest.mark.parametrize(
    ("left", "stats", "given", "free"),
    [
        # the driver's word, and what the allocator keeps unused
        (40 * GIB, {"bytes_in_use": 2 * GIB, "pool_bytes": 3 * GIB, "bytes_limit": 60 * GIB}, None, 41 * GIB),
        (40 * GIB, {"bytes_in_use": 2 * GIB, "peak_bytes_in_use": 6 * GIB}, None, 44 * GIB),
        # never more than the allocator may take
        (40 * GIB, {"bytes_in_use": 2 * GIB, "bytes_limit": 10 * GIB}, None, 8 * GIB),
        # no driver
        (None, {"bytes_in_use": 2 * GIB, "bytes_limit": 10 * GIB}, 9 * GIB, 8 * GIB),
        (None, {}, 9 * GIB, 9 * GIB),
        (None, None, None, 2 * GIB),
    ],
)
def test_how_much_memory_is_free(left: int | None, stats: Any, given: int | None, free: int) -> None:
    device = SimpleNamespace(memory_stats=lambda: stats)
    chip: Any = SimpleNamespace(free=lambda: left)
    assert platform.free(device, "cuda", chip, given) == free


class Broken(SimpleNamespace):
    """A backend whose copies of pinned memory raise this."""

    kind, version = "cuda", "0.4.30"

    def put(self, values: Any, where: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ValueError("Could not find memory addressable by device cuda. Got memory kind: pinned_host"), Unsupported),
        (RuntimeError("UNIMPLEMENTED: CopyToMemorySpace is not supported"), Unsupported),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of host memory"), MemoryError),
        (RuntimeError("INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: memory kind"), RuntimeError),
        (RuntimeError("INTERNAL: something else"), RuntimeError),
    ],
)
def test_pinned_memory_that_jax_does_not_copy(error: Exception, raised: type[Exception]) -> None:
    import numpy

    sharding = SimpleNamespace(SingleDeviceSharding=lambda *_, **__: None)
    backend: Any = Broken(error=error, numpy=numpy, device=None, jax=SimpleNamespace(sharding=sharding))
    with pytest.raises(raised) as found:
        transfer.transfer(backend, 4096, True)
    assert type(found.value) is raised
    assert str(error) in str(found.value)


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_the_quick_suite_on_a_gpu() -> None:
    found = worked(
        with_gpu("jax"), "jax", "matmul mnist transfer mixed-precision fused bandwidth inference", kind="cuda"
    )
    assert {t.outcome for t in found.tests} <= {"done", "unsupported"}, [t.message for t in found.tests]
    errors = {v: t.figures["error"] for v, t in found["matmul"].items() if t.outcome == "done"}
    most = {"fp32": 1e-5, "tf32": 1.5e-3, "fp16": 4e-4, "bf16": 3e-3, "fp8": 1e-2}
    assert {v: e for v, e in errors.items() if e > most[v]} == {}
    assert "tf32" not in errors or errors["tf32"] > 5e-5  # else it is float32
    assert found.only("mnist").figures["gradient error"] < 1e-4
    copies = found.only("transfer")
    assert (copies.notes["differing"], copies.notes["pieces_differing"]) == (0, 0)
    assert copies.notes["pinned"] is True or copies.notes["pinned_refused"]
    assert copies.figures["d2h pageable"] < 1000  # an array that was fetched before costs nothing
    assert found.only("bandwidth").notes["wrong"] == 0
    assert found["fused"]["XLA"].figures["error"] < 1e-5
