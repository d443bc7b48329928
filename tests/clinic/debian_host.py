"""gpudoctor in a Debian root: kernel and hardware are recorded, files, packages and programs are the root's own.

Started as `python debian_host.py ARGUMENTS` it is `gpudoctor ARGUMENTS` there. CLINIC_CARD is the GPU's PCI ids,
CLINIC_BOUND names the kernel driver that has taken it, if any, and CLINIC_KERNEL the running kernel.
"""

import os
import sys
from pathlib import Path
from typing import ClassVar

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent.parent)

import gpudoctor.machine
from gpudoctor.machine import Machine
from gpudoctor.recorded_machine import RecordedMachine
from tests.clinic.host import ADDRESS, KERNELS, Workstation

# A GeForce RTX 3090 (pci.ids): Debian 12's driver supports it.
CARD = "10de:2204"


class DebianHost(Workstation):
    """Debian with one GPU, on the newest kernel of the root.

    Args:
        root: as of a real machine; never used.
        seconds: how long the whole check may take.
    """

    recorded: ClassVar = KERNELS

    def __init__(self, root: str = "/", seconds: float = 300.0) -> None:
        bound = os.environ.get("CLINIC_BOUND")
        release = os.environ.get("CLINIC_KERNEL") or max(os.listdir("/lib/modules"))
        vendor, _, device = os.environ.get("CLINIC_CARD", CARD).partition(":")
        card = {"vendor": f"0x{vendor}", "device": f"0x{device}", "class": "0x030000", "power_state": "D0"}
        files = {
            "/proc/sys/kernel/osrelease": release,
            "/proc/cmdline": "quiet",
            "/proc/cpuinfo": "flags\t\t: fpu\n",
            "/proc/modules": f"{bound} 20 0 - Live 0x0\n" if bound else "ext4 9830 1 - Live 0x0\n",
            "/proc/devices": "Character devices:\n  1 mem\n",
            **{f"/sys/bus/pci/devices/{ADDRESS}/{name}": f"{text}\n" for name, text in card.items()},
        }
        links = {f"/sys/bus/pci/devices/{ADDRESS}/driver": f"../../drivers/{bound}"} if bound else {}
        RecordedMachine.__init__(
            self, files, links=links, env=dict(os.environ), errors={"/dev/kmsg": "EPERM"}, release=release,
            seconds=seconds, ids=(0, 0, (0,)),
        )  # fmt: skip

    run = Machine.run


if __name__ == "__main__":
    from gpudoctor.__main__ import main

    gpudoctor.machine.Machine = DebianHost  # type: ignore[assignment,misc]
    main()
