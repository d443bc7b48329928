"""A server with two NVIDIA GPUs whose files are recorded and whose programs and libraries really run.

Started as `python host.py ARGUMENTS` it is `gpudoctor ARGUMENTS` on that server. Its tools lie where STANDIN_BIN says,
its libcuda and libnvidia-ml in LD_LIBRARY_PATH; with STANDIN_UNLOADED the driver's module is not loaded.
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent.parent)

import gpudoctor.machine
from gpudoctor.machine import Machine, Status
from gpudoctor.recorded_machine import RecordedMachine

RELEASE, DRIVER = "6.8.0-60-generic", "550.54.14"
ADDRESSES = ("0000:0a:00.0", "0000:0b:00.0")
CARD = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "power_state": "D0"}  # H100: needs fabric manager
NODE = Status(0o666, 0, 0, 0, 195, 0, False)
NODES = ("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
PLAIN = {
    "/etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04"\nVERSION_CODENAME=noble\n',
    "/proc/sys/kernel/osrelease": RELEASE,
    "/proc/cmdline": "quiet",
    "/proc/cpuinfo": "flags\t\t: fpu hypervisor\n",
    "/sys/class/dmi/id/sys_vendor": "QEMU",
    "/proc/modules": "ext4 9830 1 - Live 0x0\n",
    "/proc/devices": "Character devices:\n195 nvidia\n507 nvidia-uvm\n",
    "/etc/nvidia/gridd.conf": "ServerAddress=license\n",
    f"/lib/modules/{RELEASE}/updates/dkms/nvidia.ko": "",
}
LOADED = {
    "/proc/modules": "nvidia_uvm 20 0 - Live 0x0\nnvidia 11583488 80 nvidia_uvm, Live 0x0\n",
    "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Thu Feb 22\n",
    **{f"/proc/driver/nvidia/gpus/{address}/information": "Model: \t\t NVIDIA H100\n" for address in ADDRESSES},
}


class Server(RecordedMachine):
    """The server; `run` and the deadline are those of a real machine.

    Args:
        root: as of a real machine; never used.
        seconds: how long the whole examination may take.
    """

    def __init__(self, root: str = "/", seconds: float = 150.0) -> None:
        env = dict(os.environ)
        tools = env.get("STANDIN_BIN", "/nonexistent/bin")
        libraries = env.get("LD_LIBRARY_PATH", "/nonexistent/lib")
        files = PLAIN | ({} if "STANDIN_UNLOADED" in env else LOADED) | {sys.executable: ""}
        files |= {f"/sys/bus/pci/devices/{a}/{name}": f"{text}\n" for a in ADDRESSES for name, text in CARD.items()}
        files |= {f"{tools}/{path.name}": "" for path in sorted(Path(tools).glob("*"))}
        files |= {f"{libraries}/{name}.{DRIVER}": "ELF" for name in ("libcuda.so", "libnvidia-ml.so")}
        links = {f"{libraries}/{name}.1": f"{name}.{DRIVER}" for name in ("libcuda.so", "libnvidia-ml.so")}
        links |= {f"/sys/bus/pci/devices/{address}/driver": "../../drivers/nvidia" for address in ADDRESSES}
        super().__init__(
            files, links=links, env=env, statuses=dict.fromkeys(NODES, NODE), errors={"/dev/kmsg": "EPERM"},
            release=RELEASE, seconds=seconds,
        )  # fmt: skip

    run = Machine.run


if __name__ == "__main__":
    from gpudoctor.__main__ import main

    gpudoctor.machine.Machine = Server  # type: ignore[assignment,misc]
    main()
