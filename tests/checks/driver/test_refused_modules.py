"""NVIDIA's module is on disk and the kernel refuses it: by type information, symbol versions, missing modules."""

import pytest

from gpudoctor import catalogue
from gpudoctor.facts import Facts
from tests.builders import ask
from tests.checks.nvidia_machines import KERNEL, OTHER, disk, event, having, logged, unloaded

MISMATCH = logged(event("symbol-mismatch", module="nvidia"), facts=unloaded())
ELSEWHERE = unloaded(nvidia__kernel__on_disk=(), nvidia__kernel__other_kernels=(disk(kernel=OTHER),))

ILL = [
    (
        "driver.not-loaded",
        logged(event("btf-refused", module="video", code=-22), facts=unloaded()),
        "The kernel module nvidia is not loaded (module 570.169 is installed on disk). The kernel refuses modules of "
        "its own (BTF validation fails): they are of another build of this kernel.",
    ),
    (
        "driver.not-loaded",
        logged(event("btf-refused", module="nvidia", code=-22), facts=unloaded()),
        "The kernel module nvidia is not loaded (module 570.169 is installed on disk). The kernel refuses it (BTF "
        "validation fails): it was compiled for another build of this kernel.",
    ),
    (
        "driver.not-loaded",
        logged(event("unknown-symbol", code=-2, module="nvidia"), facts=unloaded(host__kernel__extra_modules=False)),
        "The kernel module nvidia is not loaded (module 570.169 is installed on disk). It needs symbols of modules "
        "that are in the package linux-modules-extra of this kernel, which is not installed.",
    ),
    (
        "driver.built-for-another-kernel",
        MISMATCH,
        f"The module /lib/modules/{KERNEL}/updates/dkms/nvidia.ko was compiled for another build of the running kernel "
        f"{KERNEL}: the versions of its symbols (modversions) differ, and the kernel refuses it.",
    ),
    (
        "driver.built-for-another-kernel",
        having(MISMATCH, pci=(), host__platform="jetson"),
        f"The module /lib/modules/{KERNEL}/updates/dkms/nvidia.ko was compiled for another build of the running kernel "
        f"{KERNEL}: the versions of its symbols (modversions) differ, and the kernel refuses it.",
    ),
]

WELL = [
    ("driver.built-for-another-kernel", unloaded(nvidia__kernel__on_disk=(), pci=(), host__platform="jetson")),
    ("driver.built-for-another-kernel", having(ELSEWHERE, pci=(), host__platform="jetson")),
    (
        "driver.built-for-another-kernel",  # RDMA's module is another check's
        logged(event("symbol-mismatch", module="nvidia_peermem"), facts=unloaded()),
    ),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_what_the_kernel_refuses(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_is_another_checks(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("pass", "")]
