"""The kernel's own i915, where the module that DKMS builds was to make virtual functions."""

import pytest

from gpudoctor.areas import concerning
from gpudoctor.check_engine import run
from gpudoctor.checks.intel.sriov_module_not_loaded import sriov_module_not_loaded
from gpudoctor.facts import Distribution, Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, plain_host
from tests.checks.intel_machines import UHD, arc_host

LINE = "i915: unknown parameter 'max_vfs' ignored"
PVE = "6.17.2-1-pve"
DEBIAN = Distribution(id="debian", like=(), version="13", codename="trixie", name="Debian GNU/Linux 13 (trixie)")


def _event(module: str = "i915") -> LogEvent:
    return LogEvent(kind="intel-no-functions", text=LINE, what={"module": module, "text": "max_vfs"})


def _proxmox(*events: LogEvent) -> Facts:
    facts = change(change(plain_host(), "pci", (UHD,)), "log.events", events)
    facts = change(change(facts, "host.kernel.release", PVE), "host.kernel.headers", False)
    return change(facts, "host.distribution", DEBIAN)


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (_proxmox(_event()), "problem"),
        (_proxmox(_event("xe")), "problem"),
        (_proxmox(LogEvent(kind="unknown-parameter", text=LINE.replace("i915", "nvidia"))), "pass"),
        (_proxmox(), "pass"),
        (change(_proxmox(), "log.events", Unknown("no log")), "pass"),
        (arc_host(), "pass"),
        (change(_proxmox(_event()), "host.container", "lxc"), "skipped"),
        (change(_proxmox(_event()), "pci", ()), "skipped"),
    ],
)
def test_sriov_module_not_loaded(facts: Facts, outcome: str) -> None:
    message = (
        f"The loaded {'xe' if facts == _proxmox(_event('xe')) else 'i915'} has no parameter max_vfs, so it is the "
        f"in-tree module of kernel {PVE} and not the SR-IOV module of DKMS: the GPU has no virtual functions."
    )
    assert ask(sriov_module_not_loaded, facts) == [(outcome, message if outcome == "problem" else "")]


def test_the_area_is_looked_at_only_then() -> None:
    assert concerning(_proxmox(_event()))("intel.sriov-module-not-loaded")
    assert not concerning(_proxmox())("intel.sriov-module-not-loaded")


def test_the_headers_come_first() -> None:
    verdict = run(sriov_module_not_loaded, _proxmox(_event()))[0]
    assert verdict.problem is not None
    assert verdict.problem.evidence == (LINE, f"The headers of kernel {PVE} are not installed.")
    assert verdict.fixes[0].commands == (
        f"sudo apt-get install proxmox-headers-{PVE}",
        f"sudo dkms autoinstall -k {PVE}",
        "dkms status",
        "sudo update-initramfs -u",
        "sudo proxmox-boot-tool refresh",
        "sudo reboot",
    )
