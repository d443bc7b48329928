"""What the probe of libcuda makes of every way in which the driver answers, or does not."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.facts import CudaDevice, DriverLibrary
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import cuda
from tests.standins import clean_up, compile_into, left_running, needs_gcc

pytestmark = needs_gcc
SOME = (DriverLibrary(soname="libcuda.so.1", path="/x/libcuda.so.1", real="/x/libcuda.so.1"),)
MARK = f"STANDIN_MARK=cuda-{os.getpid()}"


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("new"), "cuda")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("old"), "cuda", "-DOLD")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    left = left_running(MARK)
    clean_up(left)
    assert left == []


def host(folder: str, **env: str) -> Machine:
    mark, _, value = MARK.partition("=")
    return Machine(env={"LD_LIBRARY_PATH": folder, "PATH": "/usr/bin:/bin", mark: value, **env})


def test_a_healthy_driver_tells_everything(new: str) -> None:
    answer = cuda.probe(host(new), SOME)
    assert (answer.code, answer.name, answer.text) == (0, "CUDA_SUCCESS", "no error")
    assert (answer.version, answer.hung, answer.died, answer.unmasked_code) == ("12.4", None, None, None)
    assert answer.loaded == f"{new}/libcuda.so.1"
    assert answer.libraries == SOME
    assert isinstance(answer.devices, tuple)
    assert answer.devices[1] == CudaDevice(
        index=1,
        name="NVIDIA GPU 1",
        uuid="GPU-10111213-1415-1617-1819-1a1b1c1d1e1f",
        capability="8.9",
        memory=24 << 30,
        address="0000:0b:00.0",
    )


def test_a_mig_instance_has_its_own_kind_of_uuid(new: str) -> None:
    devices = cuda.probe(host(new, STANDIN_DEVICES="4"), SOME).devices
    assert isinstance(devices, tuple)
    assert devices[3].uuid == "MIG-30313233-3435-3637-3839-3a3b3c3d3e3f"


def test_a_refusal_keeps_its_name_and_the_version(new: str) -> None:
    answer = cuda.probe(host(new, STANDIN_CUINIT="999"), SOME)
    assert (answer.code, answer.name, answer.text) == (999, "CUDA_ERROR_UNKNOWN", "unknown error")
    assert answer.version == "12.4"
    assert answer.devices == Unknown("cuInit failed with CUDA_ERROR_UNKNOWN (999)")


def test_a_code_that_the_library_cannot_name_is_still_told(new: str) -> None:
    answer = cuda.probe(host(new, STANDIN_CUINIT="34"), SOME)
    assert answer.code == 34
    assert answer.name == Unknown("cuGetErrorName does not know error code 34")
    assert answer.version == Unknown("cuDriverGetVersion: error 34")


def test_no_device_is_an_empty_list(new: str) -> None:
    answer = cuda.probe(host(new, STANDIN_CUINIT="100"), SOME)
    assert (answer.code, answer.devices) == (100, ())


def test_the_mask_is_told_from_the_driver(new: str) -> None:
    answer = cuda.probe(host(new, CUDA_VISIBLE_DEVICES=""), SOME)
    assert (answer.code, answer.unmasked_code) == (100, 0)


def test_an_old_library_lacks_only_what_it_lacks(old: str) -> None:
    answer = cuda.probe(host(old), SOME)
    assert (answer.code, answer.died) == (0, None)
    assert answer.name == Unknown("cuGetErrorName does not know error code 0")
    assert isinstance(answer.devices, tuple)
    assert answer.devices[0].uuid == Unknown("this libcuda has no cuDeviceGetUuid_v2")
    assert answer.devices[0].name == "NVIDIA GPU 0"


@pytest.mark.parametrize("trouble", ["sleep", "stop"])
def test_a_hang_in_cuinit_keeps_what_came_before(new: str, trouble: str) -> None:
    answer = cuda.probe(host(new, STANDIN_CUINIT_TROUBLE=trouble), SOME, seconds=2)
    assert (answer.hung, answer.died, answer.version) == ("init", None, "12.4")
    assert answer.loaded == f"{new}/libcuda.so.1"
    assert answer.code == Unknown("no response in stage init within 2 s")
    assert answer.devices == answer.code


def test_a_child_that_ignores_sigterm_is_killed(new: str) -> None:
    start = time.monotonic()
    answer = cuda.probe(host(new, STANDIN_CUINIT_TROUBLE="deaf", CUDA_VISIBLE_DEVICES="0"), SOME, seconds=2)
    assert time.monotonic() - start < 6  # both children at the same time, one second of grace
    assert answer.hung == "init"
    assert answer.unmasked_code == Unknown("no response in stage init within 2 s")


def test_a_crash_is_named_with_its_stage(new: str) -> None:
    answer = cuda.probe(host(new, STANDIN_CUINIT_TROUBLE="crash"), SOME)
    assert (answer.hung, answer.died) == (None, "SIGSEGV")
    assert answer.code == Unknown("the child process was killed by SIGSEGV in stage init")


def test_a_library_that_ends_the_process_is_no_crash(new: str) -> None:
    answer = cuda.probe(host(new, STANDIN_CUINIT_TROUBLE="exit"), SOME)
    assert (answer.hung, answer.died) == (None, None)
    assert answer.code == Unknown(
        "the child process exited in stage init with code 7: the driver talks on standard output"
    )


def test_a_hang_on_one_device_keeps_the_others(new: str) -> None:
    machine = host(new, STANDIN_DEVICES="3", STANDIN_BAD="1", STANDIN_DEVICE_TROUBLE="sleep")
    answer = cuda.probe(machine, SOME, seconds=2)
    assert (answer.hung, answer.code) == ("device 1", 0)
    assert isinstance(answer.devices, tuple)
    assert [d.name for d in answer.devices] == [
        "NVIDIA GPU 0",
        *[Unknown("no response in stage device 1 within 2 s")] * 2,
    ]


def test_no_library_starts_no_child() -> None:
    answer = cuda.probe(Machine(env={}), ())
    assert (answer.code, answer.text, answer.devices) == (None, "there is no libcuda.so.1", ())


def test_an_empty_file_is_told_in_the_loaders_words(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").touch()
    answer = cuda.probe(host(str(tmp_path)), SOME)
    assert answer.code is None
    assert answer.text == f"{tmp_path}/libcuda.so.1: file too short"


def test_another_root_is_not_asked(tmp_path: Path) -> None:
    answer = cuda.probe(Machine(root=str(tmp_path), env={}), SOME)
    assert answer.code == Unknown("libraries are not loaded under another root")
