"""What becomes of errors: in a test, around its parts, and where the device no longer answers."""

from typing import Any

import pytest

from gpudoctor.workers.smoke import runner as module
from gpudoctor.workers.smoke.runner import Bench, DeviceLost, Stopped, Unsupported
from tests.smoke.bench_kit import Device, Done, bench, reported


class Dead(Device):
    """A device that refuses everything after an error, as CUDA does after an illegal address."""

    def synchronize(self) -> None:
        raise RuntimeError("an error of the call before")


class Stuck(Device):
    """A device whose allocator cannot give anything back."""

    def release(self) -> None:
        raise RuntimeError("an error of the call before")


def last(on: Bench) -> Done:
    return Done(reported(on)[-1]["result"])


@pytest.mark.parametrize("device", [Dead, Stuck])
def test_a_device_that_no_longer_answers_is_lost_whatever_the_words(device: type[Device]) -> None:
    on = bench(device())
    with pytest.raises(DeviceLost), on.test("matmul"):
        raise RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")
    assert (last(on).outcome, last(on).result["error"]) == ("failed", "device-error")


def test_a_device_that_answers_goes_on() -> None:
    on = bench(Device())
    with on.test("matmul"):
        raise ValueError("a fault")
    assert (last(on).outcome, last(on).result["error"]) == ("failed", "other")


@pytest.mark.parametrize(
    ("error", "outcome"), [(ValueError("a fault"), "failed"), (Unsupported("Not here."), "unsupported")]
)
def test_an_error_between_the_parts_of_a_test_is_the_tests(error: Exception, outcome: str) -> None:
    def test(on: Bench) -> None:
        with on.test("inference", "fp32"):
            pass
        raise error

    on = bench(Device())
    on.run("inference", test)
    parts = [(line["result"]["variant"], line["result"]["outcome"]) for line in reported(on) if "result" in line]
    assert parts == [("fp32", "done"), ("", outcome)]


@pytest.mark.parametrize("error", [DeviceLost, Stopped])
def test_what_ends_the_process_passes(error: type[Exception]) -> None:
    def test(on: Bench) -> None:
        raise error

    with pytest.raises(error):
        bench(Device()).run("inference", test)


def test_a_start_for_want_of_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Device):
        def __init__(self, task: dict[str, Any]) -> None:
            super().__init__()

        def start(self) -> dict[str, Any]:
            raise RuntimeError("CUDA error: out of memory")

    on = bench(Device())
    home = type("home", (), {"FullBackend": Full})
    monkeypatch.setattr("importlib.import_module", lambda *_: home)
    assert module._started(on._teller, {"backend": "full"}) is None
    assert reported(on)[-1]["error"] == "out-of-memory"
