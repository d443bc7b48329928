"""Makes the reports of a fleet that does not exist: nodes with eight GPUs and 120 packages; some have a problem.

    python benchmarks/fleet_reports.py DIR [--nodes 300] [--smoke]

The same number of a node gives the same report.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gpudoctor.report.inventory import Inventory, Scalar
from gpudoctor.report.model import (
    FigureEntry,
    FindingEntry,
    FixEntry,
    FrameworkEntry,
    GpuEntry,
    MachineEntry,
    PythonEntry,
    Report,
    SmokeEntry,
    SmokeTestEntry,
    Summary,
    UnknownEntry,
)

NAME = "NVIDIA H100 80GB HBM3"
DRIVER = "580.95.05"
GPUS, PACKAGES = 8, 120
# Shares of the nodes that have something; the rest are as they should be.
NARROW, OLD_DRIVER, OTHER_PACKAGE, OTHER_KERNEL, LOOSE_GPU, DEAD, SLOW = 0.01, 0.02, 0.01, 0.005, 0.003, 0.002, 0.01
MEMORY = 2 * 1024**4 - 41_812_004_864
PYTHON = "/opt/train/bin/python"
ENVIRONMENT = PythonEntry(path=PYTHON, found_by="active environment", version="3.12.7", kind="cpython", manager="uv")
FIGURES = (
    ("matmul", "bf16", "rate", "TFLOP/s", 640.0),
    ("matmul", "fp32", "rate", "TFLOP/s", 49.0),
    ("bandwidth", "triad", "rate", "GB/s", 2960.0),
    ("transfer", "pinned", "h2d", "GB/s", 54.1),
    ("transfer", "pinned", "d2h", "GB/s", 53.2),
)


def report(number: int, smoke: bool = False) -> Report:
    """The report of a node; the same number gives the same report."""
    dice = random.Random(number)  # noqa: S311 - no secret
    old, narrow, dead = (dice.random() < share for share in (OLD_DRIVER, NARROW, DEAD))
    gpus = 0 if dead else GPUS - (dice.random() < LOOSE_GPU)
    driver = None if dead else "570.124.06" if old else DRIVER
    kernel = "6.8.0-84-generic" if dice.random() < OTHER_KERNEL else "6.8.0-87-generic"
    bad = dice.randrange(GPUS) if narrow else -1
    found = [*([_driver()] if dead else []), *([_link(bad)] if 0 <= bad < gpus else [])]
    status = "fail" if dead else "warn" if found else "pass"
    created = f"2026-11-21T{number % 24:02d}:{number // 24 % 60:02d}:{dice.randrange(60):02d}Z"
    return Report(
        version="0.1.0",
        status=status,
        created=created,
        seconds=round(dice.uniform(2, 9), 3),
        summary=Summary(fail=int(dead), warn=len(found) - dead, passed=149 - len(found), skipped=131),
        machine=MachineEntry(
            system="Linux", distribution="Ubuntu 24.04.3 LTS", kernel=kernel, architecture="x86_64", platform="bare",
            product="Supermicro AS -8125GS-TNHR", driver=driver, driver_flavor="open", driver_libraries=driver,
            driver_cuda="13.0",
        ),
        python=ENVIRONMENT,
        pythons=(ENVIRONMENT,),
        gpus=tuple(_gpu(index, dead) for index in range(gpus or GPUS)),
        frameworks=(
            FrameworkEntry(
                name="torch", python=PYTHON, version="2.9.1+cu128", variant="cuda", built_for="12.8", sees=gpus
            ),
        ),
        findings=tuple(found),
        unknown=(UnknownEntry(check="fabric.imex", subject="this machine", reason="nvidia-imex was not asked."),),
        smoke=tuple(_smoke(index, dice) for index in range(gpus)) if smoke else (),
        next=("gpudoctor smoke tests that the GPUs compute right.",),
        inventory=_inventory(dice, driver, kernel, gpus, bad),
    )  # fmt: skip


def _gpu(index: int, dead: bool) -> GpuEntry:
    return GpuEntry(
        index=index, vendor="nvidia", name="GH100 [H100 SXM5 80GB]" if dead else NAME, capability="9.0",
        address=f"0000:{0x1B + 0x11 * index:02x}:00.0", memory=None if dead else 85520809984,
        status="no driver" if dead else "ok",
    )  # fmt: skip


def _inventory(dice: random.Random, driver: str | None, kernel: str, gpus: int, bad: int) -> Inventory:
    machine: dict[str, Scalar] = {
        "host.architecture": "x86_64", "host.platform": "bare", "host.product": "Supermicro AS -8125GS-TNHR",
        "host.container": None, "host.distribution.name": "Ubuntu 24.04.3 LTS", "host.kernel.release": kernel,
        "host.kernel.secure_boot": False, "host.memory": MEMORY - 4096 * dice.randrange(2000), "host.cpus": 192.0,
        "host.memlock": None, "host.numa_balancing": False, "host.selinux": None, "nvidia.kernel.loaded": driver,
        "nvidia.kernel.flavor": "open", "nvidia.kernel.fabric_manager": "active",
        "nvidia.kernel.fabric_manager_version": driver, "nvidia.kernel.imex": None,
        "nvidia.kernel.persistence_daemon": "active", "nvidia.nvml.driver_version": driver,
        "nvidia.nvml.confidential": False, "nvidia.cuda.version": "13.0", "amd.rocm": None, "gpus": gpus,
    }  # fmt: skip
    return Inventory(machine=machine, gpus=tuple(_facts(i == bad) for i in range(gpus)), packages={PYTHON: _set(dice)})


def _facts(narrow: bool) -> dict[str, Scalar]:
    return {
        "name": NAME, "vbios": "96.00.89.00.01", "memory": 85520809984, "link_generation_max": 5, "link_width_max": 16,
        "link_width": 8 if narrow else 16, "ecc": True, "mig": False, "persistence": True, "compute_mode": "default",
        "power_limit": 700.0, "sm_clock_max": 1980, "application_clock": 1980, "fabric_state": "completed",
        "nvlinks": 18,
    }  # fmt: skip


def _set(dice: random.Random) -> dict[str, str]:
    found = {"torch": "2.9.1+cu128", "triton": "3.5.1", "numpy": "2.3.5"}
    found |= {f"nvidia-part{n:02d}-cu12": f"12.8.{n}.{n * 7}" for n in range(20)}
    found |= {f"some-package{n:03d}": f"{n % 7}.{n % 11}.{n % 5}" for n in range(PACKAGES - len(found))}
    if dice.random() < OTHER_PACKAGE:
        found["numpy"] = "2.2.6"
    return found


def _link(index: int) -> FindingEntry:
    return FindingEntry(
        check="link.narrow-pcie", status="warn", subject=f"GPU {index}",
        title="A GPU uses fewer PCIe lanes than card and slot have",
        message=f"GPU {index} ({NAME}) uses 8 of 16 lanes.",
        cause="The card does not sit right in its slot, or a riser or the slot's contacts are damaged.",
        evidence=(f"current_link_width 8, max_link_width 16 of GPU {index}",),
        fixes=(FixEntry("Reseat the card, and clean its contacts.", action="replace-hardware", needs="reboot"),),
        affects=("everything",), ruled_out=("device.fallen-off-the-bus", "device.needs-reset"),
        references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    )  # fmt: skip


def _driver() -> FindingEntry:
    return FindingEntry(
        check="driver.not-loaded", status="fail", subject="the driver", title="The driver is not loaded",
        message="No module nvidia is loaded, although eight GPUs are on the PCI bus.",
        cause="The module was not built for the running kernel.",
        fixes=(FixEntry("Build the module.", ("sudo dkms autoinstall", "sudo modprobe nvidia"), root=True),),
        affects=("everything",),
    )  # fmt: skip


def _smoke(index: int, dice: random.Random) -> SmokeEntry:
    slow = 0.8 if dice.random() < SLOW / GPUS else 1.0
    tests = []
    for test, variant, name, unit, usual in FIGURES:
        value = usual * slow * dice.gauss(1.0, 0.008)
        samples = tuple(value * dice.gauss(1.0, 0.002) for _ in range(7))
        figure = FigureEntry(name=name, value=value, unit=unit, samples=samples, method="median of batches")
        tests.append(SmokeTestEntry(test=test, variant=variant, outcome="done", seconds=0.9, figures=(figure,)))
    return SmokeEntry(
        backend="pytorch", device=f"GPU {index}", kind="cuda", python=PYTHON, outcome="done", version="2.9.1+cu128",
        name=NAME, gpu=f"0000:{0x1B + 0x11 * index:02x}:00.0", busy=False, tests=tuple(tests),
    )  # fmt: skip


def written(folder: Path, count: int, smoke: bool = False) -> Iterator[str]:
    """Write the reports of so many nodes, a file each; gives their names.

    Raises:
        OSError: one cannot be written.
    """
    for number in range(count):
        name = f"node{number:06d}"
        (folder / f"{name}.json").write_bytes(msgspec.json.encode(report(number, smoke)))
        yield name


def main() -> None:
    """Write the reports that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", help="a directory; it is made where it is missing")
    parser.add_argument("--nodes", type=int, default=300, metavar="N", help="how many (default: 300)")
    parser.add_argument("--smoke", action="store_true", help="each report has five measured values of each GPU")
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    count = sum(1 for _ in written(given.directory, given.nodes, given.smoke))
    sys.stdout.write(f"{count:,} reports in {given.directory}: gpudoctor fleet report {given.directory}\n")


if __name__ == "__main__":
    main()
