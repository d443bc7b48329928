"""What ails the GPU itself: each illness by a machine that has it, and by one that only looks like it."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.facts import Facts, GpuProcess
from gpudoctor.root_causes import findings
from tests.builders import ask, gpu, nvidia_host, plain_host
from tests.checks.amd_machines import amd_host
from tests.checks.nvidia_machines import WHY, event, failing, having, logged, unloaded, xid

FIRST = "GPU 0 (NVIDIA GeForce RTX 4090) at 0000:01:00.0"
SECOND = "GPU 1 (NVIDIA GeForce RTX 4090) at 0000:02:00.0"
B = "0000:02:00.0"
CARD = "The GPU at 0000:01:00.0 (AD102 [GeForce RTX 4090])"
GONE = having(nvidia_host(), pci=(), gpus=())
RESET_REQUIRED = (
    "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from "
    "status @ kernel_channel.c:2874"
)
NO_DRIVER_LOADED = unloaded(pci=())
LOST = failing(999, gpus__0__status="lost")
BAR = logged(event("bar-invalid", "BAR1 is 0M @ 0x0", "0000:01:00.0"), facts=unloaded())
WPR2 = logged(event("gsp-wpr2"), event("rm-init-failed", code=None), facts=failing(100, gpus=(), nvidia__nvml__count=0))
REMAP = having(gpus__0__remap_failed=True, gpus__0__remapped_uncorrected=3, gpus__0__ecc_uncorrected=14)
HELD = (GpuProcess(pid=1811, name="server", state="S"),)
EXCLUSIVE = having(nvidia_host(2), gpus__0__compute_mode="exclusive-process", gpus__0__processes=HELD)
LINKS = having(nvidia_host(2), gpus__0__nvlinks=(True, True), gpus__1__nvlinks=(False, False))
FAULTS = tuple(xid(31 if pid % 2 else 43, pid=pid, gpu=B) for pid in range(1, 7))
FALLEN_EARLIER = logged(event("nvidia-loaded"), facts=logged(xid(79)))

ENVY = having(
    NO_DRIVER_LOADED,
    nvidia__kernel__switch="envycontrol",
    nvidia__kernel__switch_files=("/etc/udev/rules.d/50-remove-nvidia.rules",),
)

ILL = [
    (
        "device.none",
        NO_DRIVER_LOADED,
        "NVIDIA's driver is installed, but no NVIDIA GPU is on the PCI bus.",
    ),
    (
        "device.driver-without-gpu",
        failing(999, facts=GONE),
        "The module 570.169 is loaded, but no NVIDIA GPU is on the PCI bus.",
    ),
    (
        "device.switched-off",
        unloaded(nvidia__kernel__bbswitch="OFF"),
        "bbswitch (Bumblebee) has powered the NVIDIA GPU off, so the driver cannot reach it.",
    ),
    (
        "device.switched-off",
        having(NO_DRIVER_LOADED, nvidia__kernel__prime="intel"),
        "prime-select is set to the Intel GPU and has powered the NVIDIA one off: it is not on the bus.",
    ),
    (
        "device.switched-off",
        ENVY,
        "envycontrol (integrated mode) has switched the NVIDIA GPU off, by /etc/udev/rules.d/50-remove-nvidia.rules: "
        "it is off the PCI bus, or its driver blacklisted.",
    ),
    (
        "device.switched-off",
        failing(999, pci__0__power_state="D3cold", gpus=(), nvidia__nvml__code=999),
        "The GPU at 0000:01:00.0 stays in D3cold (no power) although the driver is loaded.",
    ),
    (
        "device.bar-unassigned",
        BAR,
        f"{CARD} has no memory window: BAR1 is 0M, invalid. It was not assigned by the firmware.",
    ),
    (
        "device.bar-unassigned",
        unloaded(pci__0__bar1=0, host__virtual="vmware"),
        f"{CARD} has no memory window: BAR1 is 0M, invalid. It was not assigned by the hypervisor (vmware).",
    ),
    ("device.fallen-off-the-bus", LOST, f"{FIRST} is lost: it has fallen off the bus, or cannot be reached any more."),
    (
        "device.fallen-off-the-bus",
        logged(xid(79), facts=failing(999, facts=GONE)),
        "The GPU at 0000:01:00.0 has fallen off the bus according to the kernel log (Xid 79).",
    ),
    (
        "device.fallen-off-the-bus",
        logged(xid(79), facts=having(gpus__0__recovery_action=WHY)),
        f"{FIRST} has fallen off the bus according to the kernel log (Xid 79); it responds again now.",
    ),
    ("device.needs-reset", having(gpus__0__status="reset-required"), f"NVML reports that {FIRST} requires a reset."),
    (
        "device.needs-reset",
        having(gpus__0__recovery_action="drain-and-reset"),
        f"The driver reports that {FIRST} needs to be drained and reset (recovery action).",
    ),
    (
        "device.needs-reset",
        logged(
            xid(154, text="GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
            facts=having(gpus__0__recovery_action=WHY),
        ),
        f"{FIRST}: the driver requires 'Node Reboot Required' (Xid 154).",
    ),
    (
        "device.needs-reset",
        logged(event("driver-error", RESET_REQUIRED), facts=having(gpus__0__recovery_action=WHY)),
        f"{FIRST} requires a reset: the driver refuses new programs (NV_ERR_RESET_REQUIRED).",
    ),
    (
        "device.gsp-failed",
        WPR2,
        f"{CARD} is in a bad state: its GSP refuses to boot because WPR2 is already up. It needs a power cycle.",
    ),
    (
        "device.gsp-failed",
        logged(xid(119), facts=having(gpus__0__recovery_action=WHY)),
        f"{FIRST}: its GSP firmware stopped responding (Xid 119).",
    ),
    (
        "device.init-failed",
        logged(event("rm-init-failed", what="", code=None), facts=failing(100, gpus=())),
        f"{CARD} could not be initialized: RmInitAdapter failed.",
    ),
    (
        "device.xid-hardware",
        logged(xid(62), facts=having(gpus__0__recovery_action="reset")),
        f"{FIRST} reported Xid 62: Internal micro-controller halt.",
    ),
    (
        "device.xid-driver",
        logged(xid(109), facts=having(gpus__0__recovery_action=WHY)),
        f"{FIRST} reported Xid 109: Context-switch timeout.",
    ),
    (
        "device.row-remap-failed",
        REMAP,
        f"{FIRST}: remapping of a broken memory row failed (3 rows were remapped after uncorrectable errors).",
    ),
    (
        "device.row-remap-failed",
        logged(xid(64), facts=having(gpus__0__recovery_action=WHY)),
        f"{FIRST}: remapping of a broken memory row failed.",
    ),
    (
        "device.row-remap-pending",
        having(gpus__0__remap_pending=True),
        f"{FIRST} has a row remapping pending: it needs a reset.",
    ),
    (
        "device.row-remap-pending",
        having(gpus__0__remap_pending=True, gpus__0__remapped_uncorrected=12),
        f"{FIRST} has a row remapping pending: it needs a reset. Uncorrectable errors have cost 12 rows so far: its "
        "memory (HBM) keeps failing, and a reset repairs only the last row.",
    ),
    (
        "device.retired-pages-pending",
        having(gpus__0__retired_pending=True),
        f"{FIRST} has page retirements pending: it needs a reset.",
    ),
    (
        "device.ecc-uncorrected",
        logged(xid(95), facts=having(REMAP, gpus__0__recovery_action=WHY)),
        f"{FIRST} had 14 uncorrectable ECC errors since the driver was loaded (Xid 95). Xid 95 is uncontained: every "
        "program on this GPU is affected.",
    ),
    (
        "device.ecc-uncorrected",
        logged(xid(95), facts=having(REMAP, gpus__0__recovery_action="reset")),
        f"{FIRST} had 14 uncorrectable ECC errors since the driver was loaded (Xid 95). Xid 95 is uncontained: every "
        "program on this GPU is affected. Since then the driver requires recovery (reset) before new programs can use "
        "it.",
    ),
    (
        "device.exclusive-mode",
        having(EXCLUSIVE, gpus=EXCLUSIVE.gpus[:1]),  # type: ignore[index]
        "GPU 0 (NVIDIA GeForce RTX 4090) is in exclusive-process mode and server (pid 1811) uses it: other "
        "processes get error 46 there.",
    ),
    (
        "device.prohibited-mode",
        having(gpus__0__compute_mode="prohibited"),
        "GPU 0 (NVIDIA GeForce RTX 4090) is in the compute mode Prohibited: no CUDA program can run on it.",
    ),
    (
        "device.vgpu-unlicensed",
        failing(46, nvidia__kernel__license="Unlicensed (Restricted)", nvidia__kernel__gridd="failed"),
        "This vGPU's license status is 'Unlicensed (Restricted)'. The license daemon nvidia-gridd is failed.",
    ),
    (
        "device.hidden-but-sick",
        having(LOST, host__environment={"CUDA_VISIBLE_DEVICES": "1,2"}),
        "CUDA_VISIBLE_DEVICES=1,2 hides GPU 0 (NVIDIA GeForce RTX 4090), which is unhealthy (lost) and still on the "
        "bus.",
    ),
    (
        "device.nvlink-fault",
        logged(
            xid(145, text="RLW_RXPIPE Nonfatal XC0 i0 Link 11 (0x00000006 0x80000000)"),
            xid(45, text="pid=7, name=python, Ch 00000008 caused by previous Xid 145"),
            facts=having(gpus__0__recovery_action=WHY),
        ),
        f"{FIRST} reported an NVLink fault (Xid 145). The driver stopped the programs that used the link (Xid 45).",
    ),
    (
        "device.nvlink-fault",
        logged(
            xid(149, gpu=B, text="Xid (PCI:0000:02:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x025001c6 0x0 0x0)"),
            xid(145, text="Xid (PCI:0000:01:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 09 (0x5 0x80000000)"),
            xid(45),
            facts=having(LINKS, gpus__0__recovery_action=WHY, gpus__1__recovery_action=WHY),
        ),
        f"{SECOND} reported an NVLink fault (Xid 149). Its links are down (inactive). {FIRST} reported link errors "
        "as well.",
    ),
]

WELL = [
    # A GPU that sleeps is woken by the driver, and a driver that was loaded anew starts with a clean GPU.
    ("device.switched-off", having(pci__0__power_state="D3cold", pci__0__runtime_status="suspended")),
    ("device.fallen-off-the-bus", FALLEN_EARLIER),
    ("device.fallen-off-the-bus", logged(xid(79))),  # its recovery action is none: it was reset since
    ("device.none", having(NO_DRIVER_LOADED, host__platform="jetson")),
    ("device.driver-without-gpu", NO_DRIVER_LOADED),
    ("device.bar-unassigned", having(pci__0__bar1=0)),
    ("device.gsp-failed", logged(event("gsp-failed"))),
    ("device.init-failed", logged(event("rm-init-failed"))),
    ("device.xid-hardware", logged(xid(31), xid(43), xid(45), facts=having(gpus__0__recovery_action=WHY))),
    ("device.xid-driver", logged(xid(8), xid(8), xid(44), facts=having(gpus__0__recovery_action=WHY))),
    (
        "device.row-remap-pending",
        logged(xid(63), facts=having(gpus__0__recovery_action=WHY, gpus__0__remap_pending=False)),
    ),
    ("device.retired-pages-pending", having(gpus__0__retired_pending=WHY)),
    ("device.ecc-uncorrected", having(gpus__0__ecc_uncorrected=0)),
    # reset since, and an error that names none of several GPUs
    (
        "device.needs-reset",
        logged(event("driver-error", RESET_REQUIRED), facts=having(gpus__0__recovery_action="none")),
    ),
    (
        "device.needs-reset",
        logged(event("driver-error", RESET_REQUIRED), facts=having(nvidia_host(2), gpus__0__recovery_action=WHY)),
    ),
    ("device.exclusive-mode", having(gpus__0__compute_mode="exclusive-process")),
    (
        "device.exclusive-mode",
        having(
            gpus__0__compute_mode="exclusive-process",
            gpus__0__processes=(GpuProcess(pid=1, name="nvidia-cuda-mps-server"),),
        ),
    ),
    ("device.vgpu-unlicensed", having(nvidia__kernel__license="Licensed (Expiry: 2027-1-1)")),
    ("device.hidden-but-sick", having(LOST, host__environment={"CUDA_VISIBLE_DEVICES": "0"})),
    ("device.nvlink-fault", logged(xid(145, text="RLW_REMAP Nonfatal"), facts=having(gpus__0__recovery_action=WHY))),
    # channels that another error stopped
    (
        "device.nvlink-fault",
        logged(
            xid(145, text="RLW_REMAP Nonfatal"),
            xid(45, text="pid=7, name=python, Ch 00000008 caused by previous Xid 31"),
            facts=having(gpus__0__recovery_action=WHY),
        ),
    ),
]

UNKNOWN = [
    ("device.none", unloaded(pci=WHY)),
    ("device.driver-without-gpu", having(pci=WHY)),
    ("device.switched-off", unloaded(nvidia__kernel__loaded=WHY, pci__0__power_state="D3cold")),
    ("device.exclusive-mode", having(gpus__0__compute_mode=WHY)),
    ("device.prohibited-mode", having(gpus__0__compute_mode=WHY)),
    ("device.vgpu-unlicensed", having(nvidia__kernel__license=WHY)),
]


def test_a_laptop_looks_for_its_gpu_before_it_reboots() -> None:
    (check,) = catalogue.load(["device.none"])
    first = {kind: run(check, having(NO_DRIVER_LOADED, host__platform=kind))[0].fixes[0] for kind in ("laptop", "bare")}
    assert first["laptop"].commands == ("echo 1 | sudo tee /sys/bus/pci/rescan",)
    assert first["bare"].needs == "reboot"


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    answers = ask(catalogue.load([check])[0], facts)
    assert [answer for answer in answers if answer[0] != "pass"] == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    assert {outcome for outcome, _ in ask(one, nvidia_host(2))} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


def test_faults_on_one_card_need_many_processes_and_well_sisters() -> None:
    one = catalogue.load(["device.faults-on-one-card"])[0]
    eight = having(nvidia_host(8), **{f"gpus__{i}__recovery_action": WHY for i in range(8)})
    outcomes = [outcome for outcome, _ in ask(one, logged(*FAULTS, facts=eight))]
    assert outcomes == ["pass", "problem", *["pass"] * 6]
    assert ask(one, logged(*FAULTS, facts=eight))[1][1] == (
        f"{SECOND} alone of 8 GPUs had 6 faults (Xid 31 and 43) from 6 different processes: this card is probably "
        "faulty."
    )
    one_program = tuple(xid(31, pid=7, gpu=B) for _ in range(20))
    for events in (one_program, (*FAULTS, xid(13)), FAULTS[:2]):
        assert {outcome for outcome, _ in ask(one, logged(*events, facts=eight))} == {"pass"}
    # The first GPU takes all programs that choose none, so it needs more.
    first = tuple(xid(31, pid=pid) for pid in range(6))
    assert {outcome for outcome, _ in ask(one, logged(*first, facts=eight))} == {"pass"}
    assert ask(one, logged(*first, facts=nvidia_host())) == [("skipped", "")]
    # So does the one of two that computes, beside a card for the displays.
    two = having(nvidia_host(2), **{f"gpus__{i}__recovery_action": WHY for i in range(2)})
    assert {outcome for outcome, _ in ask(one, logged(*FAULTS, facts=two))} == {"pass"}
    many = tuple(xid(31, pid=pid, gpu=B) for pid in range(12))
    assert [outcome for outcome, _ in ask(one, logged(*many, facts=two))] == ["pass", "problem"]


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (LOST, "device.fallen-off-the-bus"),
        (BAR, "device.bar-unassigned"),
        (WPR2, "device.gsp-failed"),
        (REMAP, "device.row-remap-failed"),
        (unloaded(nvidia__kernel__bbswitch="OFF", nvidia__kernel__blacklists=("nvidia",)), "device.switched-off"),
        (failing(999, facts=GONE), "device.driver-without-gpu"),
        (failing(46, nvidia__kernel__license="Unlicensed (Restricted)"), "device.vgpu-unlicensed"),
        (failing(46, gpus__0__compute_mode="prohibited"), "device.prohibited-mode"),
        (having(gpus=(gpu(status="reset-required", recovery_action="reset"),)), "device.needs-reset"),
    ],
)
def test_one_cause_is_one_finding(facts: Facts, root: str) -> None:
    found, _ = findings(judge(facts, catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device"), ()))))
    assert [f.root.check.id for f in found] == [root]


def test_the_hypervisor_decides_how_a_window_is_given() -> None:
    one = catalogue.load(["device.bar-unassigned"])[0]
    vmware = unloaded(pci__0__bar1=0, host__virtual="vmware")
    assert 'pciPassthru.use64bitMMIO = "TRUE"' in one.fixes_for(vmware)[0].commands
    assert "Above 4G Decoding" in one.fixes_for(unloaded(pci__0__bar1=0))[0].message


def test_a_window_that_the_driver_could_not_resize() -> None:
    one = catalogue.load(["device.bar-resize-failed"])[0]
    facts = unloaded(
        log__events=(event("bar-resize-failed", "NVRM: Fatal Error while attempting to resize PCIe BARs."),)
    )
    keep, room = one.fixes_for(facts)
    assert "options nvidia NVreg_EnableResizableBar=0" in keep.commands[0]
    assert "/etc/modprobe.d/zz-nvidia-bar.conf" in keep.commands[0]
    assert keep.commands[1:] == ("sudo update-initramfs -u", "sudo reboot")
    assert "pci=realloc,hpmmioprefsize=64G" in room.commands[0]
    assert ask(one, having(log__events=facts.log.events)) == [("pass", "")]  # it responds
    inside = having(facts, host__container="docker")
    assert one.fixes_for(inside)[0].place == "outside"


def test_packages_that_are_left_over_next_to_another_vendors_card() -> None:
    one = catalogue.load(["device.none"])[0]
    packages = (("nvidia-driver-570", "570.169-0ubuntu1", "ii"), ("libnvidia-compute-570", "570.169-0ubuntu1", "ii"))
    facts = having(
        amd_host(), nvidia=unloaded(pci=()).nvidia, nvidia__kernel__packages=packages, pythons=(), host__platform="bare"
    )
    verdict = run(one, facts)[0]
    assert verdict.severity == "advice"
    assert verdict.message.endswith("no program is built for CUDA: the packages are left over.")
    for other in ("driver.cuda-error", "driver.nvml-error", "driver.library-mismatch"):
        failing = having(facts, nvidia__cuda__code=100, nvidia__nvml__code=18)
        assert ask(catalogue.load([other])[0], failing) == [("pass", "")]
    assert verdict.fixes[0].commands == ("sudo apt-get purge nvidia-driver-570 libnvidia-compute-570",)
    assert isinstance(facts.pci, tuple)
    integrated = having(facts, pci=tuple(msgspec.structs.replace(card, integrated=True) for card in facts.pci))
    assert run(one, integrated)[0].severity == "warn"
    assert run(one, having(facts, host__platform="laptop"))[0].severity == "warn"


def test_a_reset_is_not_typed_where_the_driver_requires_a_reboot() -> None:
    required = xid(154, text="GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    (check,) = catalogue.load(["device.gsp-failed"])
    for facts, last in ((logged(xid(120)), "--gpu-reset"), (logged(xid(120), required), "sudo reboot")):
        asked = having(facts, gpus__0__recovery_action=WHY)
        (verdict,) = [one for one in run(check, asked) if one.problem]
        assert any(last in command for command in verdict.fixes[0].commands)
