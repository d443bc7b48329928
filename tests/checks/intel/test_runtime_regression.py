"""Releases of the compute runtime that fail with certain kernels."""

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.intel.no_gpu import no_gpu
from gpudoctor.checks.intel.runtime_regression import runtime_regression
from gpudoctor.facts import Facts, Framework
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import ask, change, live
from tests.checks.intel_machines import UHD, arc_host, xpu

LUNAR = msgspec.structs.replace(UHD, device="64a0", name="Lunar Lake [Arc 140V]", driver="xe")
WHY = Unknown("not to be read")
NEW, OLD = "6.18.5-200.fc43.x86_64", "6.17.12-300.fc43.x86_64"
MESSAGE = (
    "Intel's compute runtime (build 36300) has a known bug: with the xe driver of kernel 6.18 it aborts in "
    "bindless_heaps_helper.cpp, or reports that device memory is out, as soon as a program uses Level Zero or OpenCL. "
    f"The running kernel is {NEW}."
)


def laptop(*frameworks: Framework, build: object = 36300, kernel: object = NEW, driver: str = "xe") -> Facts:
    facts = arc_host(*frameworks, pci=(msgspec.structs.replace(LUNAR, driver=driver),))
    facts = change(change(facts, "intel.runtime_build", build), "host.kernel.release", kernel)
    facts = change(facts, "host.kernel.others", (OLD,))
    return change(facts, "host.distribution", Distribution(id="fedora", version="43"))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (laptop(xpu(0)), ("problem", MESSAGE)),
        (laptop(xpu(live=live(died="SIGABRT", available=WHY))), ("problem", MESSAGE)),
        (laptop(), ("problem", MESSAGE)),
        (laptop(xpu()), ("pass", "")),  # it works here
        (laptop(xpu(0), kernel=OLD), ("pass", "")),
        (laptop(xpu(0), build=37435), ("pass", "")),
        (laptop(xpu(0), driver="i915"), ("pass", "")),
        (laptop(xpu(0), build=None), ("pass", "")),
        (laptop(xpu(0), build=WHY), ("unknown", "not to be read")),
        (laptop(xpu(0), kernel=WHY), ("unknown", "not to be read")),
    ],
)
def test_runtime_regression(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(runtime_regression, facts) == [verdict]


def test_only_what_fails_here_is_an_error() -> None:
    severities = [run(runtime_regression, facts)[0].severity.value for facts in (laptop(xpu(0)), laptop())]
    assert severities == ["fail", "advice"]


def test_it_explains_that_pytorch_finds_nothing() -> None:
    facts = laptop(xpu(0))
    (finding,) = findings([*run(runtime_regression, facts), *run(no_gpu, facts)])[0]
    assert (finding.root.check.id, len(finding.consequences)) == ("intel.runtime-regression", 1)


def test_what_is_typed() -> None:
    boot, newer, hold = run(runtime_regression, laptop(xpu(0)))[0].fixes
    assert boot.commands == (f"sudo grubby --set-default /boot/vmlinuz-{OLD}", "sudo reboot")
    assert newer.commands[0].startswith("sudo dnf upgrade --refresh 'intel-compute-runtime*'")
    assert (hold.later, hold.commands) == (True, ("sudo dnf versionlock add kernel-core",))


def test_without_an_older_kernel_its_packages_are_listed() -> None:
    facts = change(laptop(xpu(0)), "host.kernel.others", ())
    older = run(runtime_regression, facts)[0].fixes[0]
    assert older.message.startswith("Go back to kernel older than 6.18")
    assert older.commands == ("dnf list --showduplicates kernel-core",)


OLDER = (
    "Intel's compute runtime (build {}) has a known bug: it is older than the kernel and lists no GPU with the i915 "
    "driver of kernel 6.8 and newer, neither for Level Zero nor for OpenCL. The running kernel is 6.8.0-60-generic."
)


def older(*frameworks: Framework, build: int = 26032, packages: tuple[str, ...] = (), **changes: object) -> Facts:
    """An image's runtime of 2023 or 2024 under a newer kernel."""
    facts = change(arc_host(*frameworks, packages=packages), "intel.runtime_build", build)
    facts = change(facts, "host.kernel.release", changes.get("kernel", "6.8.0-60-generic"))
    return change(facts, "host.distribution", Distribution(id="ubuntu", version="22.04"))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (older(xpu(0)), ("problem", OLDER.format(26032))),
        (older(xpu(0), build=28717), ("problem", OLDER.format(28717))),
        (older(xpu(0), build=27642), ("pass", "")),  # Ubuntu's own, which has the fix
        (older(xpu(0), build=29138), ("pass", "")),
        (older(xpu(0), kernel="6.5.0-45-generic"), ("pass", "")),
        (older(xpu()), ("pass", "")),  # it works here
    ],
)
def test_a_runtime_older_than_the_kernel(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(runtime_regression, facts) == [verdict]


def test_openvino_alone_is_warned() -> None:
    machines = (older(xpu(0)), older(xpu(live=None), packages=("openvino==2024.6.0",)), older())
    assert [run(runtime_regression, facts)[0].severity.value for facts in machines] == ["fail", "warn", "advice"]


def test_an_older_runtime_is_replaced_or_given_the_size() -> None:
    newer, until = run(runtime_regression, older(xpu(0)))[0].fixes
    assert newer.message.startswith("Install release 24.13.29138 or newer of Intel's compute runtime")
    assert until.commands == ("export NEOReadDebugKeys=1", "export OverrideGpuAddressSpace=48")
