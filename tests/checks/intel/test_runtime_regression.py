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
