"""Intel's GPUs: what keeps PyTorch from them, and the machines on which nothing may be said."""

from typing import Any

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, Severity, judge, run
from gpudoctor.facts import Facts, KernelLog, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, card, change, framework, live, nvidia_host, plain_host, with_framework
from tests.checks.intel_machines import ARC, CLOSED, OPEN, STACK, UHD, arc_host, xpu

CHECKS = {one.id: one for one in catalogue.load()}
ARC_NAME = "ntel GPU at 0000:03:00.0 (DG2 [Arc A770])"
NO_DRIVER = f"The I{ARC_NAME} has no kernel driver bound"
UNREADABLE = Unknown("not to be read")
CPU = framework(version="2.9.1", variant="cpu", cuda=None, archs=(), live=live(0))


def problems(facts: Facts) -> list[tuple[str, str]]:
    return [(v.check.id, v.severity.value) for v in judge(facts, CHECKS.values()) if v.outcome is Outcome.PROBLEM]


def verdicts(name: str, facts: Facts) -> list[tuple[str, str]]:
    return ask(CHECKS[name], facts)


def logged(kind: str, gpu: str = "0000:03:00.0") -> KernelLog:
    return KernelLog(source="dmesg", events=(LogEvent(kind=kind, text=f"i915: {kind}", gpu=gpu),))


QUIET = {
    "a workstation that works": arc_host(xpu()),
    "without any framework": arc_host(),
    "an Intel laptop": plain_host(pci=(UHD,)),
    "an Intel laptop with CPU PyTorch": with_framework(CPU, plain_host(pci=(UHD,))),
    "an Intel laptop with a CUDA wheel": with_framework(framework(live=live(0)), plain_host(pci=(UHD,))),
    "an Intel laptop with the XPU build that sees it": with_framework(xpu(), plain_host(pci=(UHD,), intel=STACK)),
    "Arc beside NVIDIA": nvidia_host(pci=(card(), ARC)),
    "Arc given to a guest": arc_host(CPU, pci__1__driver="vfio-pci"),
    "an Arc desktop whose user is at the seat, without Level Zero": arc_host(
        intel__render=(OPEN,), intel__level_zero=None, intel__loader=None
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_where_nothing_is_wrong_nothing_is_said(name: str) -> None:
    assert [one for one in problems(QUIET[name]) if one[1] != "advice"] == []
    assert [one for one in problems(QUIET[name]) if one[0].startswith("intel.")] == []


@pytest.mark.parametrize(
    ("release", "driver", "device", "verdict"),
    [
        ("6.8.0-60-generic", "i915", "56a0", ("pass", "")),
        ("6.8.0-60-generic", None, "56a0", ("problem", f"{NO_DRIVER}.")),
        ("5.15.0-100-generic", None, "56a0",
         ("problem", f"{NO_DRIVER}: kernel 5.15.0-100-generic is too old, it needs 6.2 or newer.")),
        ("6.8.0-60-generic", None, "e20b",
         ("problem", f"{NO_DRIVER}: kernel 6.8.0-60-generic is too old, it needs 6.12 or newer.")),
        ("6.14.0", None, "0bda", ("problem", f"{NO_DRIVER}.")),
        ("6.8.0-60-generic", UNREADABLE, "56a0", ("unknown", "not to be read")),
        (UNREADABLE, None, "56a0", ("unknown", "not to be read")),
    ],
)  # fmt: skip
def test_not_driven(release: Any, driver: Any, device: str, verdict: tuple[str, str]) -> None:
    facts = arc_host(host__kernel__release=release, pci__1__driver=driver, pci__1__device=device)
    assert verdicts("intel.not-driven", facts) == [verdict]


NEEDS = "for this card xe is experimental, and Intel's compute runtime (Level Zero, OpenCL) needs i915."


@pytest.mark.parametrize(
    ("words", "driver", "device", "verdict"),
    [
        ("i915.force_probe=!56a0 xe.force_probe=56a0", "xe", "56a0",
         ("problem", f"The I{ARC_NAME} is bound to xe of kernel 6.8.0-60-generic by i915.force_probe=!56a0 "
          f"xe.force_probe=56a0: {NEEDS}")),
        ("quiet xe.force_probe=4680,56A0", "xe", "56a0",
         ("problem",
          f"The I{ARC_NAME} is bound to xe of kernel 6.8.0-60-generic by xe.force_probe=4680,56A0: {NEEDS}")),
        ("xe.force_probe=*", "xe", "56a0",
         ("problem", f"The I{ARC_NAME} is bound to xe of kernel 6.8.0-60-generic by xe.force_probe=*: {NEEDS}")),
        # the other driver was kept away, and this one does not know the card
        ("i915.force_probe=!56a0", None, "56a0",
         ("problem", f"{NO_DRIVER}: i915.force_probe=!56a0 on the kernel command line keeps it away.")),
        # its own driver, another card's parameter, a card that xe is for, one that needs force_probe
        ("i915.force_probe=56a0", "i915", "56a0", ("pass", "")),
        ("xe.force_probe=4680", "i915", "56a0", ("pass", "")),
        ("xe.force_probe=4680", "xe", "56a0", ("pass", "")),
        ("xe.force_probe=e20b", "xe", "e20b", ("pass", "")),
        ("i915.force_probe=*", "i915", "0bda", ("pass", "")),
        ("quiet", "xe", "56a0", ("pass", "")),
    ],
)  # fmt: skip
def test_a_driver_that_force_probe_binds(words: str, driver: Any, device: str, verdict: tuple[str, str]) -> None:
    facts = arc_host(host__kernel__command_line=words, pci__1__driver=driver, pci__1__device=device)
    assert verdicts("intel.not-driven", facts) == [verdict]


def test_a_forced_driver_weighs_by_kernel_and_by_what_computes() -> None:
    forced: dict[str, Any] = {"host__kernel__command_line": "xe.force_probe=56a0", "pci__1__driver": "xe"}
    check = CHECKS["intel.not-driven"]
    assert [v.severity for v in run(check, arc_host(**forced))] == [Severity.WARNING]
    newer = arc_host(host__kernel__release="6.17.13-1-pve", **forced)
    assert [v.severity for v in run(check, newer)] == [Severity.ADVICE]
    assert [v.outcome for v in run(check, arc_host(xpu(), **forced))] == [Outcome.PASS]
    assert run(check, arc_host(**forced))[0].fixes[0].commands[:2] == (
        "sudo sed -i 's/ *xe\\.force_probe=56a0//' /etc/default/grub",
        "sudo update-grub",
    )


@pytest.mark.parametrize(
    ("events", "changes", "reason", "step"),
    [
        ((LogEvent(kind="intel-probe-failed", text="xe", gpu="0000:03:00.0", code=-6),), {}, "BAR 2", "Above 4G"),
        ((LogEvent(kind="intel-window-invalid", text="xe", gpu="0000:03:00.0"),), {}, "BAR 2", "Above 4G"),
        ((), {"pci__1__bar1": 0}, "BAR 2", "Above 4G"),
        ((LogEvent(kind="intel-probe-failed", text="xe", gpu="0000:03:00.0", code=-110),), {}, "in time", "power"),
        # a later attempt, another card, and a number that names no cause
        ((LogEvent(kind="intel-probe-failed", text="xe", gpu="0000:03:00.0", code=-6),
          LogEvent(kind="intel-probe-failed", text="xe", gpu="0000:03:00.0", code=-62)), {}, "in time", "power"),
        ((LogEvent(kind="intel-probe-failed", text="xe", gpu="0000:04:00.0", code=-6),), {}, "", "Load the module"),
        ((LogEvent(kind="intel-probe-failed", text="xe", gpu="0000:03:00.0", code=-5),), {}, "", "Load the module"),
    ],
)  # fmt: skip
def test_what_stopped_the_probe(events: Any, changes: dict[str, Any], reason: str, step: str) -> None:
    facts = arc_host(pci__1__driver=None, log=KernelLog(source="dmesg", events=events), **changes)
    (verdict,) = run(CHECKS["intel.not-driven"], facts)
    assert reason in verdict.message
    assert ("bound:" in verdict.message) is bool(reason)
    assert step in verdict.fixes[0].message


def test_what_the_kernel_says_of_a_card_that_it_passes_over_is_shown() -> None:
    facts = arc_host(pci__1__driver=None, log=logged("intel-unsupported"))
    (verdict,) = run(CHECKS["intel.not-driven"], facts)
    assert verdict.problem
    assert verdict.problem.evidence == ("i915: intel-unsupported",)


def test_the_fix_of_a_card_without_a_driver_depends_on_why() -> None:
    old = arc_host(pci__1__driver=None, host__kernel__release="5.15.0")
    new = arc_host(pci__1__driver=None)
    data_centre = arc_host(pci__1__driver=None, pci__1__device="0bda")
    (first, second, third) = (run(CHECKS["intel.not-driven"], f)[0].fixes[0] for f in (old, new, data_centre))
    assert "linux-generic-hwe-24.04" in first.commands[0]
    assert second.commands[0] == "sudo modprobe i915"
    assert "DKMS" in third.message


def test_a_container_and_windows_have_no_kernel_to_mend() -> None:
    for path, value in (("host.container", "docker"), ("host.wsl", 2), ("host.system", "Windows")):
        facts = change(arc_host(pci__1__driver=None), path, value)
        assert verdicts("intel.not-driven", facts) == [("skipped", "")]


def test_firmware_missing() -> None:
    message = ("problem", f"The I{ARC_NAME} did not load its firmware, so it cannot run anything.")
    assert verdicts("intel.firmware-missing", arc_host(log=logged("intel-firmware"))) == [message]
    assert verdicts("intel.firmware-missing", arc_host(log=logged("intel-firmware", "0000:00:02.0"))) == [("pass", "")]
    assert verdicts("intel.firmware-missing", arc_host(xpu(), log=logged("intel-firmware"))) == [("pass", "")]
    assert verdicts("intel.firmware-missing", arc_host(log=KernelLog(events=UNREADABLE))) == [("pass", "")]


@pytest.mark.parametrize(
    ("window", "verdict"),
    [
        (16 << 30, ("pass", "")),
        (256 << 20, ("problem", f"The I{ARC_NAME} exposes only 256 MiB of its memory to the CPU at a time.")),
        (0, ("pass", "")),
        (None, ("pass", "")),
        (UNREADABLE, ("unknown", "not to be read")),
    ],
)
def test_small_bar(window: Any, verdict: tuple[str, str]) -> None:
    assert verdicts("intel.small-bar", arc_host(pci__1__bar1=window)) == [verdict]


def test_a_hypervisors_window_is_not_the_cards() -> None:
    facts = arc_host(pci__1__bar1=256 << 20, host__virtual="kvm")
    assert verdicts("intel.small-bar", facts) == [("pass", "")]


@pytest.mark.parametrize(("driver", "severity"), [("xe", Severity.WARNING), ("i915", Severity.ADVICE)])
def test_level_zero_refuses_a_small_bar_with_xe_alone(driver: str, severity: Severity) -> None:
    facts = arc_host(xpu(), pci__1__bar1=256 << 20, pci__1__driver=driver)
    (verdict,) = run(CHECKS["intel.small-bar"], facts)
    assert verdict.severity is severity
    assert verdict.problem
    assert ("refuses" in (verdict.problem.cause or "")) is (driver == "xe")


@pytest.mark.parametrize(("virtual", "place"), [(None, "here"), ("kvm", "outside")])
def test_what_xe_logs_counts_in_a_guest_too(virtual: str | None, place: str) -> None:
    log = logged("intel-small-bar")
    facts = arc_host(xpu(), pci__1__driver="xe", pci__1__bar1=UNREADABLE, host__virtual=virtual, log=log)
    (verdict,) = run(CHECKS["intel.small-bar"], facts)
    assert verdict.message == f"The I{ARC_NAME} exposes only a part of its memory to the CPU at a time."
    assert [fix.place for fix in verdict.fixes] == [place]
    other = arc_host(pci__1__driver="xe", log=logged("intel-small-bar", "0000:04:00.0"))
    assert verdicts("intel.small-bar", other) == [("pass", "")]


CLOSED_SAYS = "/dev/dri/renderD128 cannot be opened (EACCES): it belongs to the group render, mode 660."


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (arc_host(xpu(0), intel__render=(CLOSED,)), ("problem", CLOSED_SAYS), "fail"),
        (arc_host(intel__render=(CLOSED,)), ("problem", CLOSED_SAYS), "warn"),
        (arc_host(xpu(), intel__render=(CLOSED, OPEN)), ("pass", ""), ""),
        (arc_host(xpu(), intel__render=()), ("pass", ""), ""),
        (arc_host(xpu(), intel__render=UNREADABLE), ("unknown", "not to be read"), ""),
        (arc_host(intel__render=(CLOSED,), intel__level_zero=None), ("problem", CLOSED_SAYS), "warn"),
        (arc_host(intel__render=(CLOSED,), intel__level_zero=None, intel__opencl=False), ("skipped", ""), ""),
        (arc_host(intel__render=(CLOSED,), intel__level_zero=None, pci=(UHD,)), ("skipped", ""), ""),
        (arc_host(intel__render=(CLOSED,), pci=(UHD,)), ("pass", ""), ""),
    ],
)
def test_render_node_closed(facts: Facts, verdict: tuple[str, str], severity: str) -> None:
    assert verdicts("intel.render-node-closed", facts) == [verdict]
    found = [v.severity.value for v in run(CHECKS["intel.render-node-closed"], facts) if v.problem]
    assert found == ([severity] if severity else [])


def test_a_closed_node_is_the_cause_and_the_frameworks_words_follow() -> None:
    facts = arc_host(xpu(0), intel__render=(CLOSED,))
    assert set(problems(facts)) == {("intel.render-node-closed", "fail"), ("intel.no-gpu", "fail")}
    assert CHECKS["intel.no-gpu"].explains_through("intel.render-node-closed")
    (fix,) = run(CHECKS["intel.render-node-closed"], facts)[0].fixes
    assert fix.commands == ("sudo usermod -aG render a",)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (arc_host(xpu(0), host__container="docker", intel__render=()),
         ("problem",
          "PyTorch 2.9.1+xpu is built for Intel GPUs, but no /dev/dri/renderD* was passed into this container.")),
        (arc_host(xpu(0), host__container="docker"), ("pass", "")),
        (arc_host(xpu(0), intel__render=()), ("pass", "")),
        (arc_host(xpu(), host__container="docker", intel__render=()), ("pass", "")),
        (arc_host(xpu(0), host__container="docker", intel__render=UNREADABLE), ("unknown", "not to be read")),
        (arc_host(xpu(live=live(available=UNREADABLE)), host__container="docker"), ("unknown", "not to be read")),
    ],
)  # fmt: skip
def test_no_devices_passed(facts: Facts, verdict: tuple[str, str]) -> None:
    assert verdicts("intel.no-devices-passed", facts) == [verdict]


@pytest.mark.parametrize(
    ("loader", "driver", "gpus", "verdict"),
    [
        ("/x", "/y", 0, ("pass", "")),
        (None, None, 1, ("pass", "")),
        (None, "/y", 0, ("problem", "PyTorch 2.9.1+xpu finds no Intel GPU: libze_loader.so.1 not found.")),
        ("/x", None, 0, ("problem", "PyTorch 2.9.1+xpu finds no Intel GPU: libze_intel_gpu.so.1 not found.")),
        (UNREADABLE, None, 0, ("unknown", "not to be read")),
    ],
)
def test_level_zero_missing(loader: Any, driver: Any, gpus: int, verdict: tuple[str, str]) -> None:
    facts = arc_host(xpu(gpus), intel__loader=loader, intel__level_zero=driver)
    assert verdicts("intel.level-zero-missing", facts) == [verdict]


def test_level_zero_is_installed_by_the_distributions_own_packages() -> None:
    facts = arc_host(xpu(0), intel__loader=None)
    (fix,) = run(CHECKS["intel.level-zero-missing"], facts)[0].fixes
    assert "libze1" in fix.commands[0]
    assert "libze-intel-gpu1" in fix.commands[0]


@pytest.mark.parametrize(
    ("facts", "message", "severity"),
    [
        (arc_host(CPU), f"PyTorch 2.9.1 is built for the CPU only, so it cannot use the I{ARC_NAME}.", "warn"),
        (arc_host(CPU, intel__level_zero=None),
         f"PyTorch 2.9.1 is built for the CPU only, so it cannot use the I{ARC_NAME}.", "advice"),
        (arc_host(framework(live=live(0)), intel__level_zero=None),
         f"PyTorch 2.7.1 is built for CUDA, so it cannot use the I{ARC_NAME}.", "advice"),
        (arc_host(framework(live=live(0)), intel__level_zero=None, host__container="docker"),
         f"PyTorch 2.7.1 is built for CUDA, so it cannot use the I{ARC_NAME}.", "warn"),
    ],
)  # fmt: skip
def test_torch_not_for_xpu(facts: Facts, message: str, severity: str) -> None:
    (verdict,) = run(CHECKS["intel.torch-not-for-xpu"], facts)
    assert (verdict.message, verdict.severity.value) == (message, severity)
    assert "https://download.pytorch.org/whl/xpu" in verdict.fixes[0].commands[1]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (arc_host(xpu()), ("pass", "")),
        (arc_host(CPU, packages=("intel-extension-for-pytorch==2.9.10",)), ("pass", "")),
        (arc_host(framework(variant=UNREADABLE)), ("unknown", "not to be read")),
        (arc_host(CPU, pci=(UHD,)), ("skipped", "")),
        (change(nvidia_host(), "pci", (card(), ARC)), ("skipped", "")),
    ],
)
def test_other_builds_are_right_elsewhere(facts: Facts, verdict: tuple[str, str]) -> None:
    assert verdicts("intel.torch-not-for-xpu", facts) == [verdict]


@pytest.mark.parametrize(
    ("torch", "extension", "verdict"),
    [
        ("2.8.0+xpu", "2.8.10+xpu", ("pass", "")),
        ("2.7.1", "2.8.0",
         ("problem", "intel-extension-for-pytorch 2.8.0 is installed with PyTorch 2.7.1; it needs PyTorch 2.8.")),
        (UNREADABLE, "2.8.0", ("unknown", "not to be read")),
    ],
)  # fmt: skip
def test_extension_mismatch(torch: Any, extension: str, verdict: tuple[str, str]) -> None:
    packages = (f"intel-extension-for-pytorch=={extension}",)
    facts = arc_host(framework(variant="cpu", cuda=None), packages=packages, pythons__0__frameworks__0__version=torch)
    assert verdicts("intel.extension-mismatch", facts) == [verdict]


def test_without_the_extension_nobody_is_asked() -> None:
    assert verdicts("intel.extension-mismatch", arc_host(CPU)) == [("skipped", "")]


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("", False),
        ("level_zero:gpu", False),
        ("level_zero:0", False),
        ("*:*", False),
        ("*:gpu", False),
        ("opencl:*", True),
        ("opencl:cpu;level_zero:1", False),
        ("level_zero:1,7", False),
        ("level_zero:2", True),
        ("level_zero:4.0", True),
        ("*:cpu", True),
        ("!opencl:*", False),
        ("!level_zero:*", True),
        ("level_zero:*;!level_zero:gpu", True),
    ],
)
def test_selector_hides_all(value: str, hidden: bool) -> None:
    facts = arc_host(xpu(0), host__environment={"ONEAPI_DEVICE_SELECTOR": value})
    message = (
        f"ONEAPI_DEVICE_SELECTOR={value} selects no Level Zero GPU: this machine has 2 Intel GPUs, numbered from 0."
    )
    assert verdicts("intel.selector-hides-all", facts) == [("problem", message) if hidden else ("pass", "")]


@pytest.mark.parametrize(
    ("mask", "hidden"),
    [("0", False), ("1", False), ("2", True), ("4.0,5.1", True), ("0,7", False), ("", False), ("x", False)],
)
def test_a_mask_that_names_no_device(mask: str, hidden: bool) -> None:
    """Arc and the graphics of a CPU have one tile each."""
    facts = arc_host(xpu(0), host__environment={"ZE_AFFINITY_MASK": mask})
    (verdict,) = run(CHECKS["intel.selector-hides-all"], facts)
    there = "this machine has 2 Intel GPUs, numbered from 0"
    assert verdict.message == (f"ZE_AFFINITY_MASK={mask} names no existing GPU: {there}." if hidden else "")
    assert [fix.commands for fix in verdict.fixes] == [("unset ZE_AFFINITY_MASK",)] * hidden


@pytest.mark.parametrize(("mask", "hidden"), [("1", False), ("3", False), ("4", True), ("2.1", False)])
def test_each_tile_of_a_data_center_gpu_is_a_device(mask: str, hidden: bool) -> None:
    card = msgspec.structs.replace(ARC, device="0bd5")
    facts = arc_host(xpu(0), host__environment={"ZE_AFFINITY_MASK": mask}, pci=(card, card))
    assert (verdicts("intel.selector-hides-all", facts)[0][0] == "problem") is hidden


def test_a_selector_beside_a_pytorch_that_sees_the_gpu_is_no_problem() -> None:
    env = {"ONEAPI_DEVICE_SELECTOR": "opencl:*"}
    assert verdicts("intel.selector-hides-all", arc_host(xpu(), host__environment=env)) == [("pass", "")]
    unknown = arc_host(xpu(live=live(available=UNREADABLE)), host__environment=env)
    assert verdicts("intel.selector-hides-all", unknown) == [("unknown", "not to be read")]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (arc_host(xpu()), ("pass", "")),
        (arc_host(xpu(0)), ("problem", f"PyTorch 2.9.1+xpu does not use the I{ARC_NAME}.")),
        (arc_host(xpu(0), pci=(UHD,)), ("pass", "")),
        (arc_host(xpu(live=live(import_error="ImportError: x", available=UNREADABLE))), ("pass", "")),
        (arc_host(xpu(live=live(available=UNREADABLE))), ("unknown", "not to be read")),
        (arc_host(xpu(live=None)), ("skipped", "")),
    ],
)
def test_no_gpu(facts: Facts, verdict: tuple[str, str]) -> None:
    assert verdicts("intel.no-gpu", facts) == [verdict]
