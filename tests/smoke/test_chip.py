"""What the driver says of a device, with a driver that is played: its answers, its errors, and no driver at all."""

# ruff: noqa: N802 - the functions have the driver's names

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends import chip
from gpudoctor.workers.smoke.backends.chip import DeviceInfo

OK, BAD, NO_CONTEXT = 0, 1, 201


def into(pointer: Any, value: int) -> int:
    pointer._obj.value = value
    return OK


class Nvidia:
    """libcuda with two devices; it counts the contexts that are kept and those that are current."""

    def __init__(self) -> None:
        self.kept, self.stack, self.broken = 0, 0, ""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def cuInit(self, flags: int) -> int:
        return BAD if self.broken == "cuInit" else OK

    def cuDeviceGetAttribute(self, value: Any, which: int, device: int) -> int:
        return into(value, {16: 132, 38: 50 << 20, 40: 3}[which] + device)

    def cuDeviceCanAccessPeer(self, value: Any, device: int, other: int) -> int:
        return into(value, int((device, other) == (1, 0)))

    def cuPointerGetAttribute(self, value: Any, which: int, address: Any) -> int:
        assert which == 2
        answers = {16: lambda: into(value, 1), 32: lambda: into(value, 2), 64: lambda: NO_CONTEXT}
        return answers.get(address.value, lambda: BAD)()

    def cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> int:
        if self.broken == "cuDevicePrimaryCtxRetain":
            return BAD
        self.kept += 1
        return into(context, 0x7F0012345678)

    def cuDevicePrimaryCtxRelease_v2(self, device: int) -> int:
        self.kept -= 1
        return OK

    def cuCtxPushCurrent_v2(self, context: Any) -> int:
        assert isinstance(context, ctypes.c_void_p)  # a plain number would be cut to 32 bits
        self.stack += 1
        return OK

    def cuCtxPopCurrent_v2(self, context: Any) -> int:
        self.stack -= 1
        return OK

    def cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        assert self.stack == 1
        return BAD if self.broken == "cuMemGetInfo_v2" else into(free, 70 << 30) or into(total, 80 << 30)


@pytest.fixture
def nvidia(monkeypatch: pytest.MonkeyPatch) -> Nvidia:
    played = Nvidia()
    monkeypatch.setattr(chip, "_library", lambda kind: played)
    return played


def test_what_a_driver_answers(nvidia: Nvidia) -> None:
    one = DeviceInfo("cuda", 1)
    assert (one.processors(), one.cache(), one.copy_engines(), one.free()) == (133, (50 << 20) + 1, 4, 70 << 30)
    assert (one.can_access(0), DeviceInfo("cuda", 0).can_access(1)) == (True, False)


@pytest.mark.parametrize("broken", ["", "cuMemGetInfo_v2", "cuDevicePrimaryCtxRetain"])
def test_contexts_are_left_as_they_were(nvidia: Nvidia, broken: str) -> None:
    nvidia.broken = broken
    assert DeviceInfo("cuda", 0).free() == (None if broken else 70 << 30)
    assert (nvidia.kept, nvidia.stack) == (0, 0)


@pytest.mark.parametrize(("address", "pinned"), [(16, True), (32, False), (48, False), (64, None)])
def test_pinned_memory_is_what_the_driver_knows_as_the_hosts(nvidia: Nvidia, address: int, pinned: bool | None) -> None:
    assert DeviceInfo("cuda", 0).pinned(address) is pinned


def silent(one: DeviceInfo) -> list[Any]:
    return [one.processors(), one.cache(), one.copy_engines(), one.free(), one.can_access(1), one.pinned(16)]


def test_a_driver_that_does_not_start_answers_nothing(nvidia: Nvidia) -> None:
    nvidia.broken = "cuInit"
    assert silent(DeviceInfo("cuda", 0)) == [None] * 6


def test_an_old_driver_lacks_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chip, "_library", lambda kind: SimpleNamespace(cuInit=lambda flags: OK))
    assert silent(DeviceInfo("cuda", 0)) == [None] * 6


@pytest.mark.parametrize("kind", ["cpu", "rocm", "cuda"])
def test_no_driver(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert silent(DeviceInfo(kind, 0)) == [None] * 6


def hip(current: list[int]) -> Any:
    """The HIP runtime: its memory is that of the device that is current."""

    def choose(device: int) -> int:
        current[0] = device
        return OK

    def memory(free: Any, total: Any) -> int:
        return into(free, (current[0] + 1) << 30)

    access: Callable[..., int] = lambda value, device, other: into(value, 1)  # noqa: E731
    return SimpleNamespace(
        hipGetDevice=lambda value: into(value, current[0]),
        hipSetDevice=choose,
        hipMemGetInfo=memory,
        hipDeviceCanAccessPeer=access,
    )


def test_amds_runtime_keeps_its_current_device(monkeypatch: pytest.MonkeyPatch) -> None:
    current = [0]
    monkeypatch.setattr(chip, "_library", lambda kind: hip(current))
    one = DeviceInfo("rocm", 3)
    assert (one.free(), current, one.can_access(0)) == (4 << 30, [0], True)
    assert (one.processors(), one.cache(), one.pinned(16)) == (None, None, None)


def test_the_library_that_the_framework_has_loaded() -> None:
    path = chip._mapped("libc.so") or chip._mapped("libc-")
    assert path is not None
    assert path.startswith("/")
    assert chip._mapped("libamdhip64-that-nobody-has") is None
