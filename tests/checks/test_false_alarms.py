"""Machines on which a check once spoke, or spoke too gravely, although nothing or something else was wrong."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor import catalogue
from gpudoctor.check_engine import Fix, Outcome, Severity, run
from gpudoctor.facts import Facts, GpuProcess
from gpudoctor.fixes import system
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import Unknown
from gpudoctor.targets import frameworks, pairs
from gpudoctor.tasks.as_typed import typed
from tests.builders import FEDORA, card, change, framework, library, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.intel_machines import arc_host, xpu
from tests.checks.link.test_link import links
from tests.checks.nvidia_machines import (
    event,
    failing,
    having,
    logged,
    nodes,
    unloaded,
    versions,
    xid,
)

READS = GpuProcess(pid=42, name="python3", state="D")
HELD = GpuProcess(pid=7, name="server", state="S")
SWITCH = card(vendor="10de", device="22a3", role="switch", driver="nvidia-nvswitch")
GONE = having(gpus=(), nvidia__nvml__count=0, nvidia__cuda__code=100)
ASLEEP = having(versions("550.90.07", "550.107.02", "550.107.02"), pci__0__power_state="D3cold", gpus=())
NO_ROOM = event("uvm-hmm", "nvidia-uvm: request_free_mem_region() ... err -34")
CLOSED = (*nodes("nvidiactl", "nvidia0", "nvidia-uvm"), *nodes("nvidia1", error="EACCES", mode="660"))


def exclusive(*holders: tuple[GpuProcess, ...]) -> Facts:
    """A node of a batch system: every GPU takes one process."""
    facts = nvidia_host(len(holders))
    for index, held in enumerate(holders):
        facts = change(facts, f"gpus.{index}.compute_mode", "exclusive-process")
        facts = change(facts, f"gpus.{index}.processes", held)
    return facts


def empty(**changes: Any) -> Facts:
    """MIG is on, and NVML shows no instance."""
    return having(gpus__0__mig=True, gpus__0__mig_pending=True, gpus__0__mig_devices=(), **changes)


DISPLAY = card(8, device="128b", name="GK208B [GeForce GT 710]", driver="nouveau", capability="3.5")
NO_DRIVER: dict[str, Any] = {"nvidia__kernel__dkms": None, "nvidia__kernel__packages": ()}


def beside(facts: Facts, driver: str = "nouveau", **changes: Any) -> Facts:
    """An NVIDIA card without NVIDIA's driver beside another vendor's GPUs."""
    others = facts.pci if isinstance(facts.pci, tuple) else ()
    return having(facts, pci=(*others, replace(DISPLAY, driver=driver)), **(NO_DRIVER | changes))


SILENT = {
    "three cards of which two have a bridge": ("link.nvlink-down", links((True,), (True,), (False,))),
    "a sleeping GPU beside libraries of another version": ("device.switched-off", ASLEEP),
    "a sleeping GPU without NVML": (
        "device.switched-off",
        having(pci__0__power_state="D3cold", gpus=(), nvidia__nvml__code=Unknown("no library")),
    ),
    "a GPU at work, and its program reads a disk": (
        "health.stuck-process",
        having(gpus__0__processes=(READS,), gpus__0__utilization=40),
    ),
    "a machine that runs the fabric manager for others": ("device.driver-without-gpu", having(GONE, pci=(SWITCH,))),
    "libraries that nobody loads": (
        "driver.half-upgraded",
        having(versions("550.90.07", "550.90.07", "550.107.02"), nvidia__nvml__code=0, nvidia__cuda__code=0),
    ),
    "a log of a failed build beside a loaded module": (
        "driver.dkms-build-failed",
        having(
            nvidia__kernel__dkms_errors=("error: of another kernel",),
            nvidia__nvml__libraries=(),
            nvidia__cuda__libraries=(),
        ),
    ),
    "a machine whose DKMS did not answer": (
        "driver.no-module-for-kernel",
        beside(plain_host(), nvidia__kernel__dkms=Unknown("dkms status did not end in time")),
    ),
    "a mask on a kernel without room for HMM": ("driver.hmm-without-room", logged(NO_ROOM, facts=failing(100))),
    "a container that was given another GPU's instance": ("mig.no-instances", empty(host__container="docker")),
    "a job that was given another GPU's instance": ("mig.no-instances", empty(cluster__scheduler="slurm")),
}

LIGHTER = {
    "ROCm beside an NVIDIA card for the displays": ("driver.not-installed", beside(amd_host()), Severity.ADVICE),
    "an Intel GPU that computes beside such a card": (
        "driver.not-installed",
        beside(with_framework(xpu(), arc_host())),
        Severity.ADVICE,
    ),
    "ROCm beside such a card, and PyTorch for CUDA": (
        "driver.not-installed",
        beside(with_framework(framework(), amd_host())),
        Severity.ERROR,
    ),
    "such a card alone": ("driver.not-installed", beside(plain_host()), Severity.ERROR),
    "ROCm beside a card for a virtual machine": (
        "driver.vfio-in-the-way",
        beside(amd_host(), "vfio-pci"),
        Severity.ADVICE,
    ),
    "a card for a virtual machine alone": (
        "driver.vfio-in-the-way",
        beside(plain_host(), "vfio-pci"),
        Severity.WARNING,
    ),
    "a batch system's GPUs, one in use": (
        "device.exclusive-mode",
        exclusive((HELD,), ()),
        Severity.WARNING,
    ),
    "a batch system's GPUs, all in use": ("device.exclusive-mode", exclusive((HELD,), (HELD,)), Severity.ERROR),
    "a program that reads a disk": (
        "health.stuck-process",
        having(gpus__0__processes=(READS,), gpus__0__utilization=0),
        Severity.ADVICE,
    ),
    "a program that waits while CUDA hangs": (
        "health.stuck-process",
        having(gpus__0__processes=(READS,), nvidia__cuda__hung="cuInit"),
        Severity.WARNING,
    ),
    "a GPU of another user": ("driver.device-nodes-closed", having(nvidia__kernel__nodes=CLOSED), Severity.ADVICE),
    "closed nodes that keep CUDA away": (
        "driver.device-nodes-closed",
        failing(100, nvidia__kernel__nodes=CLOSED),
        Severity.ERROR,
    ),
    "a container that was given no instance": (
        "mig.no-instances",
        empty(host__container="docker", nvidia__cuda__code=100),
        Severity.ERROR,
    ),
}


@pytest.mark.parametrize(("id_", "facts"), SILENT.values(), ids=SILENT)
def test_nothing_is_said(id_: str, facts: Facts) -> None:
    (check,) = catalogue.load([id_])
    assert {v.outcome for v in run(check, facts)} <= {Outcome.PASS, Outcome.UNKNOWN}


@pytest.mark.parametrize(("id_", "facts", "severity"), LIGHTER.values(), ids=LIGHTER)
def test_it_is_said_as_gravely_as_it_is(id_: str, facts: Facts, severity: Severity) -> None:
    (check,) = catalogue.load([id_])
    problems = [v for v in run(check, facts) if v.outcome is Outcome.PROBLEM]
    assert {v.severity for v in problems} == {severity}


@pytest.mark.parametrize(
    ("count", "hours", "severity"),
    [(0, 48, Severity.ADVICE), (0, 1, Severity.ERROR), (2, 48, Severity.ERROR)],
)
def test_memory_errors_before_a_reset_are_over(count: int, hours: int, severity: Severity) -> None:
    (check,) = catalogue.load(["device.ecc-uncorrected"])
    before = having(logged(xid(48)), gpus__0__ecc_uncorrected=count, log__now=hours * 3600.0 + 10.0)
    facts = having(before, log__events__0__seconds=10.0, gpus__0__recovery_action=None)
    assert [v.severity for v in run(check, facts) if v.outcome is Outcome.PROBLEM] == [severity]


def test_links_of_a_board_are_never_down_on_purpose() -> None:
    (check,) = catalogue.load(["link.nvlink-down"])
    name = "NVIDIA H100 80GB HBM3"
    facts = having(links((True, True), (False, False)), gpus__0__name=name, gpus__1__name=name)
    joined = having(facts, gpus__1__fabric_state="in-progress")
    assert [v.outcome for v in run(check, facts)] == [Outcome.PASS, Outcome.PASS]
    assert [v.outcome for v in run(check, joined)] == [Outcome.PASS, Outcome.PROBLEM]


def test_a_gpu_that_sleeps_though_nvml_has_tried() -> None:
    (check,) = catalogue.load(["device.switched-off"])
    facts = having(pci__0__power_state="D3cold", gpus=(), nvidia__nvml__code=Unknown("no answer"))
    (verdict,) = run(check, having(facts, nvidia__nvml__hung="nvmlInit"))
    assert verdict.outcome is Outcome.PROBLEM


@pytest.mark.parametrize("id_", ["device.fallen-off-the-bus", "device.gsp-failed", "device.xid-hardware"])
@pytest.mark.parametrize(("days", "severity"), [(30, Severity.ADVICE), (3, Severity.WARNING)])
def test_a_fault_of_weeks_ago_is_history(id_: str, days: int, severity: Severity) -> None:
    codes = {"device.fallen-off-the-bus": 79, "device.gsp-failed": 119, "device.xid-hardware": 62}
    (check,) = catalogue.load([id_])
    before = having(logged(xid(codes[id_])), log__now=days * 86400.0 + 10.0)
    facts = having(before, log__events__0__seconds=10.0, gpus__0__recovery_action=None)
    assert [v.severity for v in run(check, facts) if v.outcome is Outcome.PROBLEM] == [severity]


def test_a_gpu_that_answers_again_needs_no_restart() -> None:
    (check,) = catalogue.load(["device.fallen-off-the-bus"])
    (verdict,) = run(check, having(logged(xid(79)), gpus__0__recovery_action=None))
    assert not any("reboot" in command for fix in verdict.fixes for command in fix.commands)
    (verdict,) = run(check, failing(999, logged(xid(79)), gpus__0__status="lost"))
    assert verdict.fixes[0].commands == ("sudo reboot",)


def test_nixos_has_no_configuration_of_the_loader() -> None:
    folder = "/run/opengl-driver/lib"
    copy = library("libcuda.so.1", path=f"{folder}/libcuda.so.1", found_by="not on the loader's path")
    facts = with_framework(framework(), having(failing(100), nvidia__cuda__code=None, nvidia__cuda__libraries=(copy,)))
    (check,) = catalogue.load(["driver.library-missing"])
    (elsewhere,) = run(check, facts)
    (nixos,) = run(check, having(facts, host__distribution__id="nixos"))
    assert "ldconfig" in " ".join(elsewhere.fixes[0].commands)
    assert nixos.fixes[0].commands == (f"export LD_LIBRARY_PATH={folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",)
    assert not nixos.fixes[0].root


@pytest.mark.parametrize(
    ("location", "wrong"),
    [("/opt/env/lib/python3.11/site-packages/torch", True), ("/nix/store/4z-torch/site-packages/torch", False)],
)
def test_nixos_needs_the_variable_for_wheels_only(location: str, wrong: bool) -> None:
    copy = library("libcuda.so.1", path="/run/opengl-driver/lib/libcuda.so.1", found_by="not on the loader's path")
    facts = having(host__distribution__id="nixos", nvidia__cuda__libraries=(copy,))
    (check,) = catalogue.load(["driver.library-missing"])
    assert run(check, facts)[0].problem is None
    assert (run(check, with_framework(framework(location=location), facts))[0].problem is not None) == wrong


@pytest.mark.parametrize(
    ("state", "severity"),
    [("Unlicensed (Unrestricted)", Severity.WARNING), ("Unlicensed (Restricted)", Severity.ERROR)],
)
def test_a_virtual_gpu_that_is_not_restricted_yet(state: str, severity: Severity) -> None:
    (check,) = catalogue.load(["device.vgpu-unlicensed"])
    assert [v.severity for v in run(check, having(nvidia__kernel__license=state))] == [severity]


@pytest.mark.parametrize("driver", ["vfio-pci", "pciback", "nvidia"])
def test_what_befell_a_card_before_a_virtual_machine_got_it(driver: str) -> None:
    there = "0000:02:00.0"
    facts = having(nvidia_host(), pci=(card(0), card(1, driver=driver)))
    facts = logged(event("rm-init-failed", gpu=there), xid(79, gpu=there), facts=facts)
    for check in catalogue.load(["device.init-failed", "device.fallen-off-the-bus"]):
        ill = [v for v in run(check, facts) if v.outcome is Outcome.PROBLEM]
        assert bool(ill) is (driver == "nvidia")


@pytest.mark.parametrize(
    ("id_", "kind", "platform"),
    [
        ("host.out-of-memory-kills", "oom-kill", "bare"),
        ("health.unified-memory-exhausted", "driver-no-memory", "dgx-spark"),
        ("driver.suspend-refused", "suspend-refused", "laptop"),
    ],
)
@pytest.mark.parametrize(("days", "ill"), [(2, True), (20, False)])
def test_what_happened_weeks_ago_is_not_told(id_: str, kind: str, platform: str, days: int, ill: bool) -> None:
    (check,) = catalogue.load([id_])
    before = having(logged(event(kind, process="python3")), host__platform=platform, log__now=days * 86400.0 + 10.0)
    (verdict,) = run(check, having(before, log__events__0__seconds=10.0))
    assert (verdict.outcome is Outcome.PROBLEM) is ill


def test_a_later_suspend_that_was_not_refused() -> None:
    (check,) = catalogue.load(["driver.suspend-refused"])
    attempt = (event("suspend"), event("suspend-refused"), event("resume"))
    (verdict,) = run(check, logged(*attempt))
    assert verdict.outcome is Outcome.PROBLEM
    (verdict,) = run(check, logged(*attempt, event("suspend"), event("resume")))
    assert verdict.outcome is Outcome.PASS


@pytest.mark.parametrize(("days", "since"), [(3, "Since boot"), (30, "In the last week")])
def test_since_when_programs_were_ended(days: int, since: str) -> None:
    (check,) = catalogue.load(["host.out-of-memory-kills"])
    (verdict,) = run(check, having(logged(event("oom-kill", process="python3")), host__uptime=days * 86400.0))
    assert verdict.message.startswith(f"{since} the kernel's OOM killer ended python3 once")


def test_whose_gpus_a_framework_is_built_for() -> None:
    builds = framework(), framework(cuda=None, hip="6.3"), xpu(), framework(cuda=None, variant="cpu")
    facts = [with_framework(build) for build in builds]
    assert [[about.vendor for about, _ in frameworks(f)] for f in facts] == [["nvidia"], ["amd"], ["intel"], [None]]
    assert [about.vendor for about, _ in pairs(facts[0])] == ["nvidia"]


@pytest.mark.parametrize("id_", ["driver.nouveau-in-the-way", "driver.nova-core-in-the-way"])
def test_an_image_is_not_changed_by_dnf_dracut_or_grubby(id_: str) -> None:
    (check,) = catalogue.load([id_])
    held = unloaded(pci__0__driver="nouveau" if "nouveau" in id_ else "NovaCore", host__distribution=FEDORA)
    (plain,) = run(check, held)
    assert any("grubby" in command for command in plain.fixes[0].commands)
    (image,) = run(check, having(held, nvidia__kernel__image_keys=()))
    commands = image.fixes[0].commands
    assert commands[1].startswith("sudo rpm-ostree kargs --append-if-missing=rd.driver.blacklist=no")
    assert not any("dracut" in command or "grubby" in command for command in commands)
    assert "Rebuild the initial RAM disk" not in image.fixes[0].message


def test_packages_and_parameters_of_an_image() -> None:
    plain = having(nvidia_host(), host__distribution=FEDORA)
    image = having(plain, nvidia__kernel__image_keys=())
    assert typed(system.install(plain, "akmod-nvidia")) == ("sudo dnf install akmod-nvidia",)
    assert typed(system.install(image, "akmod-nvidia")) == ("sudo rpm-ostree install akmod-nvidia",)
    assert typed(system.remove(image, "akmod-nvidia")) == ("sudo rpm-ostree uninstall akmod-nvidia",)
    assert typed(system.reinstall(image, "akmod-nvidia")) == ("sudo rpm-ostree upgrade",)
    fix = Fix("Install it.", system.install(image, "akmod-nvidia"))
    assert fix.message == "Install it. The packages take effect after a reboot."
    assert (typed(system.initramfs(plain)), system.initramfs(image)) == (("sudo dracut --force",), ())
    assert kernel_parameter(image, "Pass.", "iommu=pt").commands[0] == (
        "sudo rpm-ostree kargs --append-if-missing=iommu=pt"
    )
