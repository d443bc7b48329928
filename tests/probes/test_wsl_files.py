"""The files of the Windows host's driver."""

import pytest

from gpudoctor.facts import Host
from gpudoctor.probes.wsl import files as wsl_files
from gpudoctor.recorded_machine import RecordedMachine

FOLDER = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_0afec3f2050014a0"


@pytest.mark.parametrize(
    ("wsl", "files", "drivers", "dxgdmal"),
    [
        (None, {"/usr/lib/wsl/drivers/README": "x"}, None, None),
        (2, {}, None, False),
        (2, {"/usr/lib/wsl/lib/libdxcore.so": "x"}, (), False),
        (2, {"/usr/lib/wsl/lib/libdxcore.so": "x", "/usr/lib/wsl/lib/libcuda.so.1": "x"}, None, False),
        (2, {"/usr/lib/wsl/drivers/README": "x"}, (), False),
        (2, {"/usr/lib/wsl/drivers/u0391234.inf_amd64_1/amdxc64.so": "x"}, (), False),
        (2, {f"{FOLDER}/libcuda.so.1.1": "x"}, (FOLDER[21:],), False),
        (2, {f"{FOLDER}/libnvdxgdmal.so.1": "x"}, (FOLDER[21:],), True),
        (2, {"/usr/lib/wsl/lib/libnvdxgdmal.so.1": "x"}, None, True),
    ],
)
def test_files(wsl: int | None, files: dict[str, str], drivers: tuple[str, ...] | None, dxgdmal: bool | None) -> None:
    machine = RecordedMachine(files)
    host = Host(wsl=wsl)
    assert wsl_files.drivers(machine, host) == drivers
    assert wsl_files.dxgdmal(machine, host) is dxgdmal
