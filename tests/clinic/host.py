"""gpudoctor on a workstation whose hardware and kernel are recorded, and whose files, loader and programs are real.

Started as `python host.py ARGUMENTS` it is `gpudoctor ARGUMENTS` there. The stand-ins for the driver's libraries are in
CLINIC_DRIVER, and the environment variables that they read (tests/standins/nvml.c) describe GPU and driver.
"""

import os
import sys
from pathlib import Path
from typing import BinaryIO, ClassVar

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent.parent)

import gpudoctor.machine
from gpudoctor.machine import READ_LIMIT, Machine, Space, Status
from gpudoctor.recorded_machine import RecordedMachine
from tests.standins.host import NODE, NODES, PLAIN, RELEASE

ADDRESS = "0000:0a:00.0"
# What the kernel tells comes from the record, and so does what could be installed on the machine that runs the tests.
KERNELS = ("/proc", "/sys", "/dev")
INSTALLED = ("/etc/os-release", "/etc/nvidia", "/etc/ld.so.", "/lib/modules", "/usr/local/cuda", "/opt", "/var")


def _files(env: dict[str, str]) -> dict[str, str]:
    release, pci = env["STANDIN_DRIVER"], env["STANDIN_PCI"]
    card = {"vendor": "0x10de", "device": f"0x{pci[:4]}", "class": "0x030000", "power_state": "D0"}
    return PLAIN | {
        "/proc/modules": "nvidia_uvm 20 0 - Live 0x0\nnvidia 11583488 80 nvidia_uvm, Live 0x0\n",
        "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {release}  Thu Feb 22\n",
        f"/proc/driver/nvidia/gpus/{ADDRESS}/information": f"Model: \t\t {env['STANDIN_NAME']}\n",
        **{f"/sys/bus/pci/devices/{ADDRESS}/{name}": f"{text}\n" for name, text in card.items()},
    }


class Workstation(RecordedMachine):
    """A workstation with one GPU.

    Args:
        root: as of a real machine; never used.
        seconds: how long the whole check may take.
    """

    recorded: ClassVar[tuple[str, ...]] = (*KERNELS, *INSTALLED)

    def __init__(self, root: str = "/", seconds: float = 300.0) -> None:
        env = dict(os.environ)
        super().__init__(
            _files(env), links={f"/sys/bus/pci/devices/{ADDRESS}/driver": "../../drivers/nvidia"}, env=env,
            statuses=dict.fromkeys([n for n in NODES if n != "/dev/nvidia1"], NODE), errors={"/dev/kmsg": "EPERM"},
            release=RELEASE, seconds=seconds, ids=(os.geteuid(), os.getegid(), (os.getegid(),)),
            spaces={"/dev/shm": Space(16 << 30, 16 << 30)},
        )  # fmt: skip

    run = Machine.run

    def place(self, path: str) -> str:
        """The path itself, or the recorded place."""
        return super().place(path) if self._is_recorded(path) else Machine.place(self, path)

    def data(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The content of the file, or of the recorded one."""
        return super().data(path, limit) if self._is_recorded(path) else Machine.data(self, path, limit)

    def open(self, path: str) -> BinaryIO:
        """The file, or the recorded one."""
        return super().open(path) if self._is_recorded(path) else Machine.open(self, path)

    def listed(self, folder: str) -> list[str] | None:
        """What is in the directory, or in the recorded one."""
        return super().listed(folder) if self._is_recorded(folder) else Machine.listed(self, folder)

    def status(self, path: str) -> Status | None:
        """What stat(2) reports, or what is recorded."""
        return super().status(path) if self._is_recorded(path) else Machine.status(self, path)

    def owner(self, path: str) -> int | None:
        """The owner, or the recorded one."""
        return super().owner(path) if self._is_recorded(path) else Machine.owner(self, path)

    def link(self, path: str) -> str | None:
        """The link's target, or the recorded one."""
        return super().link(path) if self._is_recorded(path) else Machine.link(self, path)

    def real(self, path: str) -> str:
        """The path without links, in the file system or in the record."""
        return super().real(path) if self._is_recorded(path) else Machine.real(self, path)

    def space(self, path: str) -> Space | None:
        """What statvfs(2) reports, or what is recorded."""
        return super().space(path) if self._is_recorded(path) else Machine.space(self, path)

    def may_write(self, path: str) -> bool:
        """Whether access(2) allows it."""
        return Machine.may_write(self, path)

    def _executable(self, path: str) -> bool:
        return Machine._executable(self, path)

    def _is_recorded(self, path: str) -> bool:
        return path.startswith(self.recorded)


if __name__ == "__main__":
    from gpudoctor.__main__ import main

    gpudoctor.machine.Machine = Workstation  # type: ignore[assignment,misc]
    main()
