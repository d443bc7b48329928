"""Environments that are made once for all tests, and the stand-ins for the driver's libraries."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clinic.kit import TABLE, Shell, copy, make
from tests.real.conftest import folder, pytest_collection_modifyitems
from tests.standins import compile_into

__all__ = ["folder", "pytest_collection_modifyitems"]
Patient = Callable[[str, str], Shell]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of libcuda, libnvidia-ml and what answers for the CUDA runtime."""
    place = tmp_path_factory.mktemp("driver")
    for name in ("cuda_queries", "cudart_queries"):
        compile_into(place, name)
    compile_into(place, "nvml", "-DCLINIC")
    (place / "libcuda.so").symlink_to("libcuda.so.1")
    return place


@pytest.fixture
def patient(folder: Path, driver: Path, tmp_path: Path) -> Patient:
    """Give a shell in a project with a copy of an environment, on a host; the copy is the test's own."""

    def admit(environment: str, host: str) -> Shell:
        place = folder / f"clinic-{environment}"
        with (folder / f"clinic-{environment}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be at it
            make(place, TABLE.environment[environment])
        project = tmp_path / "project"
        project.mkdir()
        copy(place, project / "env")
        return Shell(project, driver, TABLE.host[host])

    return admit
