"""A recorded machine's /proc and /sys, damaged one value at a time: one fact is unknown, and all others stay."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import pipeline
from gpudoctor.child import ChildResult
from gpudoctor.facts import Facts, PciDevice
from gpudoctor.facts.facts_file import load
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.privacy.secrets import harmless
from gpudoctor.probes.device_nodes import TOPOLOGY
from gpudoctor.report.renderers import html, prometheus, text
from gpudoctor.report.sanitize import document
from tests.cli import BARE
from tests.probes.test_kfd import CPU, PROPERTIES, SYSFS
from tests.probes.test_pci import CARD
from tests.standins.host import LOADED, PLAIN, RELEASE

# More for a longer hunt: DAMAGES=5000 pytest tests/probes/test_damaged.py
DAMAGES = int(os.environ.get("DAMAGES", "150"))
BUS = "/sys/bus/pci/devices"
NVIDIA, OTHER, AMD, INTEL, BRIDGE = (f"{BUS}/0000:0{n}:00.0" for n in (1, 2, 3, 4, 9))
MORE = {
    "aer_dev_correctable": "RxErr 3\nBadTLP 12\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 900\nTOTAL_ERR_COR 915\n",
    "local_cpulist": "0-15",
    "iommu_group/type": "DMA-FQ",
    "numa_node": "0",
}
UEVENT = "DRIVER=nvidia\nPCI_CLASS={}\nPCI_ID={}:{}\nPCI_SUBSYS_ID=10DE:1454\n"
SYSTEM = {
    "/proc/meminfo": "MemTotal:       65536000 kB\nMemFree:         1000000 kB\nMemAvailable:   60000000 kB\n",
    "/proc/self/status": "Name:\tpython3\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-15\n",
    "/proc/self/limits": "Limit  Soft  Hard  Units\nMax address space  unlimited  unlimited  bytes\n",
    "/proc/self/cgroup": "0::/user.slice/session-1.scope\n",
    "/proc/self/uid_map": "         0          0 4294967295\n",
    "/proc/self/mountinfo": "23 28 0:21 / /sys rw,nosuid - sysfs sysfs rw\n28 1 8:2 / / rw - ext4 /dev/sda2 rw\n",
    "/proc/uptime": "123456.78 900000.00\n",
    "/proc/sys/kernel/hostname": "host\n",
    "/proc/sys/kernel/ostype": "Linux\n",
    "/proc/sys/kernel/numa_balancing": "0\n",
    "/proc/sys/kernel/random/boot_id": "b7c7e3f2-0000-4000-8000-000000000000\n",
    "/proc/1/comm": "systemd\n",
    "/proc/version": f"Linux version {RELEASE} (buildd@x) (gcc 13.2)\n",
    "/proc/driver/nvidia/params": "ModifyDeviceFiles: 1\nNVreg_OpenRmEnableUnsupportedGpus: 0\n",
    "/sys/module/nvidia/version": "550.54.14\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "/sys/fs/cgroup/memory.max": "max\n",
    "/sys/fs/cgroup/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/user.slice/memory.max": "68719476736\n",
    "/sys/fs/cgroup/user.slice/cpu.max": "800000 100000\n",
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": b"\6\0\0\0\0",
    "/sys/class/dmi/id/product_name": "X570\n",
    "/sys/class/dmi/id/chassis_type": "3\n",
    "/sys/bus/thunderbolt/devices/0-1/authorized": "1\n",
    "/sys/bus/thunderbolt/devices/0-1/device_name": "Core X\n",
    "/sys/bus/thunderbolt/devices/0-1/vendor_name": "Razer\n",
    f"{TOPOLOGY}/1/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 206141652992\nflags 0\n",
    f"{TOPOLOGY}/1/gpu_id": "51110\n",
    "/etc/group": "root:x:0:\nvideo:x:44:\nrender:x:992:\n",
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "/dev/kmsg": "6,1,100,-;Linux version\n4,2,5310021,-;NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n",
}


def card(folder: str, vendor: str, device: str, code: str = "030000") -> dict[str, str | bytes]:
    own = CARD | MORE | {"vendor": f"0x{vendor}", "device": f"0x{device}", "class": f"0x{code}"}
    own["uevent"] = UEVENT.format(code.lstrip("0").upper(), vendor.upper(), device.upper())
    return {f"{folder}/{name}": f"{value}\n" for name, value in own.items()}


def files() -> dict[str, str | bytes]:
    """Two cards of NVIDIA's, one of AMD's and one of Intel's, and what a running system shows beside them."""
    found: dict[str, str | bytes] = {**PLAIN, **LOADED, **CPU, **SYSTEM}  # type: ignore[dict-item]
    found |= {f"{TOPOLOGY}/1/properties": PROPERTIES.replace("2560", "768").replace("29858", "29857")}
    found |= card(NVIDIA, "10de", "2684") | card(OTHER, "10de", "2330", "030200") | card(INTEL, "8086", "56a0")
    found |= card(AMD, "1002", "74a1", "120000") | {f"{AMD}/{name}": f"{value}\n" for name, value in SYSFS.items()}
    return found | card(BRIDGE, "1022", "1483", "060400")


class Shown(Machine):
    """The files under a folder as if they were those of the running machine, on which no program answers."""

    here = True
    system = "Linux"

    def run(self, argv: Sequence[str], *_: Any, **__: Any) -> ChildResult:
        return ChildResult(argv=tuple(argv), missing="command not found")

    def open_errors(self, paths: Sequence[str]) -> dict[str, Maybe[str | None]]:
        return dict.fromkeys(paths, None)

    def release(self) -> str:
        return RELEASE

    def architecture(self) -> str:
        return "x86_64"

    def ids(self) -> tuple[int, int, tuple[int, ...]]:
        return 0, 0, (0,)


def lay(root: Path) -> None:
    for path, content in files().items():
        there = Path(f"{root}{path}")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(content.encode() if isinstance(content, str) else content)


def seen(root: Path) -> Facts:
    return pipeline.gather(Shown(str(root), env={}), pipeline.CheckOptions(quick=True))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 34)


# What stands in the place of a whole file, and in that of a value.
WHOLE: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "a folder": folder,
    "a pipe": instead(os.mkfifo),
    "without end": instead(lambda path: path.symlink_to("/dev/zero")),
    "a circle": instead(lambda path: path.symlink_to(path.name)),
    "sparse": sparse,
}
VALUES = (
    b"", b"zz", b"0x", b"-7", b"-", b"9" * 19, b"9" * 400, b"9" * 5000, b"0x" + b"f" * 400, "²".encode(), "٣".encode(),
    b"1e999", b"nan", b"\0", b"\xff\xfe", b"../../x", b"\x1b[31m", b"4294967295", b"18446744073709551615", b"0.5",
    b":;=,",
)  # fmt: skip


def undamaged(facts: Facts) -> dict[str, PciDevice]:
    assert not isinstance(facts.pci, Unknown)
    return {device.address: device for device in facts.pci}


def reported(facts: Facts) -> None:
    """Everything that can be said of the facts is said without a fault of ours."""
    assert load(document(facts).encode()) == facts
    report = harmless(pipeline.check(facts=facts))
    assert report.summary.broken == 0
    assert report.status in ("pass", "warn", "fail", "incomplete")
    json.loads(document(report))
    assert text.render(report, verbose=True)
    assert html.render(report)
    assert prometheus.render(report)


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("machine")
    lay(root)
    return root


def test_the_machine_is_seen_as_it_is(laid: Path) -> None:
    facts = seen(laid)
    assert facts.failed == ()
    assert [device.rpartition("/")[2] for device in (NVIDIA, OTHER, AMD, INTEL)] == list(undamaged(facts))
    assert isinstance(facts.gpus, tuple)
    assert [(gpu.vendor, gpu.memory) for gpu in facts.gpus if gpu.vendor == "amd"] == [("amd", 206141652992)]
    assert facts.host.cpus == 8.0
    reported(facts)


def test_one_bad_value_makes_one_fact_unknown(laid: Path) -> None:
    dice, whole, begun = random.Random(7), seen(laid), files()
    paths = [path for path in begun if path.startswith(("/proc", "/sys"))]
    for number in range(DAMAGES):
        path = dice.choice(paths)
        there = Path(f"{laid}{path}")
        before = there.read_bytes()
        values = list(re.finditer(rb"[^\s:,]+", before))
        if dice.random() < 0.3 or not values:
            how = dice.choice(list(WHOLE))
            WHOLE[how](there)
        else:
            value, other = dice.choice(values), dice.choice(VALUES)
            how = f"{value[0]!r} is {other[:40]!r}"
            there.write_bytes(before[: value.start()] + other + before[value.end() :])
        try:
            facts = seen(laid)
            assert facts.failed == ()
            devices = undamaged(facts)
            assert devices.keys() == undamaged(whole).keys()
            assert facts.gpus == whole.gpus or path.startswith((TOPOLOGY, AMD))
            for address, device in undamaged(whole).items():
                if address not in path:
                    assert devices[address] == device
            reported(facts)
        except Exception as error:
            error.add_note(f"damage {number}: {path}: {how}")
            raise
        finally:
            shutil.rmtree(there) if there.is_dir() and not there.is_symlink() else there.unlink(missing_ok=True)
            there.write_bytes(before)
    assert seen(laid).pci == whole.pci


@pytest.mark.parametrize("name", ["vendor", "device", "class"])
@pytest.mark.parametrize("other", ["", "zz", "0x", "9" * 400])
def test_what_a_card_is_stands_in_two_places(tmp_path: Path, name: str, other: str) -> None:
    lay(tmp_path)
    before = undamaged(seen(tmp_path))
    Path(f"{tmp_path}{NVIDIA}/{name}").write_text(other)
    assert undamaged(seen(tmp_path)) == before


def test_a_card_that_nobody_can_identify_is_no_proof_that_there_is_none(tmp_path: Path) -> None:
    lay(tmp_path)
    for one in (OTHER, AMD, INTEL):
        shutil.rmtree(f"{tmp_path}{one}")
    Path(f"{tmp_path}{NVIDIA}/vendor").write_text("zz")
    Path(f"{tmp_path}{NVIDIA}/uevent").unlink()
    assert isinstance(seen(tmp_path).pci, Unknown)


@pytest.mark.parametrize("how", ["a pipe", "without end", "sparse"])
@pytest.mark.parametrize("which", ["all", "nvidia.ko"])
def test_no_file_is_waited_for_or_read_without_end(tmp_path: Path, how: str, which: str) -> None:
    """A process of its own, for its memory is measured."""
    lay(tmp_path)
    module = f"/lib/modules/{os.uname().release}/updates/dkms/nvidia.ko"
    more = ("/etc/ld.so.cache", "/usr/share/misc/pci.ids", "/etc/docker/daemon.json", module)
    for path in (*files(), *more):
        there = Path(f"{tmp_path}{path}")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.touch()
        if path.endswith("nvidia.ko") or (which == "all" and not path.endswith(("vendor", "device", "class"))):
            WHOLE[how](there)
    code = (
        "import resource, subprocess, sys\n"
        "words = ['-m', 'gpudoctor', 'check', '--json', '--root', sys.argv[1]]\n"
        "ended = subprocess.run([sys.executable, *words], timeout=60)\n"
        "print(ended.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=BARE, capture_output=True, text=True, timeout=90, check=True
    )
    assert ended.stderr == ""
    report, _, last = ended.stdout.strip().rpartition("\n")
    code_, memory = map(int, last.split())
    assert code_ in (0, 1, 3)
    assert json.loads(report)["summary"]["broken"] == 0
    assert memory < 150 << 10  # KiB: a run without any of that takes some 50 MB
