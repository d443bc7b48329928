"""What the log tells of GPUs that do not start, and of faults that are no illness of the GPU."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, judge, run
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes.driver import install_driver
from gpudoctor.root_causes import findings
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.nvidia_machines import WHY, event, failing, having, logged, xid

A = "0000:01:00.0"
PORT = "0000:00:01.0"
FIRST = f"GPU 0 (NVIDIA GeForce RTX 4090) at {A}"
CARD = f"The GPU at {A} (AD102 [GeForce RTX 4090])"
SILENT = failing(100, gpus=(), nvidia__nvml__count=0)
WORDS = "GPU does not have the necessary power cables connected"
FILE = "nvidia/570.169/gsp_ga10x.bin"
REFUSED = f"Direct firmware load for {FILE} failed with error -2"
OLD = having(gpus__0__recovery_action=WHY)


def started(code: str) -> LogEvent:
    """A start of the driver that failed with these numbers."""
    return LogEvent(kind="rm-init-failed", text=f"RmInitAdapter failed! ({code})", gpu=A, what={"code": code})


def fault(code: int, minutes: float, **what: str) -> Facts:
    """A machine, an hour and 40 minutes old, on which a program met a fault so many minutes ago."""
    one = LogEvent(kind="xid", text=f"Xid {code}", gpu=A, code=code, seconds=6000 - 60 * minutes, what=what)
    return having(logged(one), log__now=6000.0)


LAST_MONTH = LogEvent(kind="driver-error", text="failed", seconds=9.0, what={"module": "NVRM"})

ILL = [
    (
        "device.power-cable-missing",
        logged(event("power-cables", WORDS, A), started("0x24:0x1c:1603"), facts=SILENT),
        f"{CARD} gets too little power: a power cable of the card is missing or not seated.",
    ),
    (
        "device.power-cable-missing",
        logged(started("0x24:0x1c:1447"), facts=SILENT),
        f"{CARD} gets too little power: a power cable of the card is missing or not seated.",
    ),
    (
        "device.power-cable-missing",
        logged(xid(54), facts=having(gpus__0__status=WHY)),
        f"{FIRST} gets too little power: a power cable of the card is missing or not seated.",
    ),
    (
        "device.gsp-firmware-missing",
        logged(event("gsp-firmware", REFUSED, A, device=FILE), started("0x61:0x56:1594"), facts=SILENT),
        f"{CARD}: its GSP firmware, /lib/firmware/{FILE}, is missing.",
    ),
    (
        "device.gsp-firmware-missing",
        logged(
            event("gsp-firmware", "No firmware image found"),
            started("0x61:0x56:1892"),
            facts=having(SILENT, host__kernel__firmware_loader=False),
        ),
        f"{CARD}: its GSP firmware cannot be loaded: this kernel has no firmware loader (CONFIG_FW_LOADER).",
    ),
    (
        "device.gsp-firmware-missing",
        logged(event("gsp-failed", REFUSED, A), facts=SILENT),
        f"{CARD}: its GSP firmware is missing.",
    ),
    (
        "device.gsp-firmware-missing",
        logged(started("0x61:0x56:1594"), facts=SILENT),
        f"{CARD}: its GSP firmware is missing (the driver failed fetching the firmware).",
    ),
    (
        "device.gsp-firmware-missing",
        logged(event("gsp-firmware", "version mismatch", driver="570.86.16"), facts=SILENT),
        f"{CARD}: its GSP firmware is version 570.86.16, which the module rejects.",
    ),
    (
        "device.no-interrupts",
        logged(event("no-interrupts", gpu=A), facts=SILENT),
        f"No interrupt of the GPU at {A} (AD102 [GeForce RTX 4090]) reaches the driver, so it cannot use it.",
    ),
    (
        "device.no-interrupts",
        logged(started("0x11:0x45:2525"), facts=SILENT),
        f"No interrupt of the GPU at {A} (AD102 [GeForce RTX 4090]) reaches the driver, so it cannot use it.",
    ),
    (
        "device.gsp-failed",
        logged(event("gfw-boot"), facts=SILENT),
        f"{CARD}: its boot firmware (GFW) did not finish, so its GSP cannot start.",
    ),
    (
        "device.init-failed",
        logged(started("0x25:0x65:1589"), facts=SILENT),
        f"{CARD} could not be initialized: RmInitAdapter failed (0x25:0x65:1589). It stopped while loading the GPU's "
        "state: timeout.",
    ),
    (
        "device.program-faults",
        fault(31, 5, pid="4711", process="python3"),
        f"python3 (pid 4711) was stopped on {FIRST}: Xid 31, GPU MMU page fault (5 minutes ago).",
    ),
    (
        "device.program-faults",
        fault(13, 0.5, pid="4711"),
        f"The program with pid 4711 was stopped on {FIRST}: Xid 13, Graphics/compute engine exception.",
    ),
    (
        "device.fallen-off-the-bus",
        logged(event("lost-at-probe", gpu=A), facts=SILENT),
        f"{CARD} has fallen off the bus according to the kernel log.",
    ),
    (
        "device.fallen-off-the-bus",
        logged(
            event("aer", gpu=PORT, text="PCIe Bus Error: severity=Correctable"),
            event("aer", gpu="0000:00:1c.0"),  # the link of something else
            facts=having(gpus__0__status="lost"),
        ),
        f"{FIRST} is lost: it has fallen off the bus, or cannot be reached any more. PCIe errors (AER) were logged on "
        f"its link at {PORT} before: cable, riser, adapter or slot do not carry the link speed.",
    ),
    (
        "device.bar-resize-failed",
        logged(event("bar-no-space", gpu=A), event("bar-resize-failed"), facts=SILENT),
        f"The driver could not resize BAR1 of the GPU at {A}: the bridge above it has no room. It did not bind to the "
        "GPU.",
    ),
    (
        "device.vgpu-host-mismatch",
        logged(xid(78), facts=SILENT),
        f"{CARD}: the guest driver does not match the driver of the vGPU's host. Guest driver: 570.169.",
    ),
    (
        "device.unexplained-log-errors",
        logged(event("driver-error", "NVRM: failed to copy vbios to system memory.", module="NVRM")),
        "The kernel log has an error of GPU drivers.",
    ),
    (
        "device.unexplained-log-errors",
        logged(
            event("iommu-fault", gpu=A),
            event("iommu-fault", gpu="0000:00:14.0"),  # of a USB controller
            LogEvent(kind="aer", text="AER", gpu=PORT, what={"text": "Uncorrectable (Fatal)"}),
            LogEvent(kind="aer", text="AER", gpu=A, what={"text": "Correctable"}),
        ),
        "The kernel log has 2 errors of GPU drivers.",
    ),
    (
        "device.iommu-faults",
        logged(event("iommu-fault", gpu=A), event("iommu-fault", gpu="0000:00:14.0")),
        f"The IOMMU refused accesses of {A} (1 page fault).",
    ),
    (
        "device.xid-hardware",
        having(fault(62, 90), gpus__0__recovery_action=WHY),
        f"{FIRST} reported Xid 62: Internal micro-controller halt (1 hour ago).",
    ),
    (
        "device.needs-reset",
        having(gpus__0__recovery_action="drain"),
        f"The driver reports that {FIRST} needs to be drained of its programs (recovery action).",
    ),
]

WELL = [
    # A second module loaded, or a cable plugged in and the computer started: what answers is well.
    ("device.power-cable-missing", logged(event("power-cables", WORDS, A))),
    ("device.power-cable-missing", logged(started("0x24:0x65:1603"), facts=SILENT)),
    ("device.gsp-firmware-missing", logged(event("gsp-firmware", REFUSED, A))),
    ("device.gsp-firmware-missing", logged(started("0x62:0x65:1"), facts=SILENT)),
    ("device.no-interrupts", logged(event("no-interrupts", gpu=A))),
    ("device.no-interrupts", logged(started("0x11:0x59:1"), facts=SILENT)),
    ("device.gsp-failed", logged(event("gfw-boot", gpu=A))),
    ("device.program-faults", having(fault(31, 5, pid="4711"), log__now=WHY)),
    ("device.program-faults", having(fault(31, 5, pid="4711"), log__now=6000.0 + 4 * 3600)),  # long ago
    ("device.program-faults", fault(31, 5)),  # nobody can say which program
    ("device.program-faults", fault(45, 5, pid="4711")),
    ("device.program-faults", fault(43, 5, pid="4711")),
    ("device.xid-driver", logged(xid(56), xid(61), xid(113), facts=OLD)),
    ("device.xid-driver", logged(xid(155), facts=OLD)),
    ("device.xid-hardware", logged(xid(54), xid(92), xid(125), xid(155), xid(165), xid(166), facts=OLD)),
    ("device.nvlink-fault", logged(xid(155), xid(166), xid(170), facts=OLD)),
    # A link that went down on purpose, by the catalogue's numbers.
    (
        "device.nvlink-fault",
        logged(xid(149, text="NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x026001c6 0x00000000 0x0)"), facts=OLD),
    ),
    ("device.needs-reset", having(gpus__0__recovery_action="none")),
    # The driver was loaded again since, and the GPU responds.
    ("device.fallen-off-the-bus", logged(event("lost-at-probe", gpu=A))),
    ("device.vgpu-host-mismatch", logged(xid(78))),
    ("device.bar-resize-failed", logged(event("bar-resize-failed"))),  # a later try succeeded
    ("device.xid-driver", logged(xid(78), facts=OLD)),
    # Of a driver whose GPUs nobody computes with here, of before the driver was loaded again, and of last month.
    ("device.unexplained-log-errors", logged(event("driver-error", module="amdgpu"))),
    ("device.unexplained-log-errors", logged(event("driver-error", module="i915"))),
    ("device.unexplained-log-errors", logged(event("driver-error", module="NVRM"), event("nvidia-loaded"))),
    ("device.unexplained-log-errors", having(logged(LAST_MONTH), log__now=31 * 86400.0)),
    ("device.unexplained-log-errors", having(logged(event("iommu-fault", gpu=A)), pci__0__driver="vfio-pci")),
    ("device.iommu-faults", having(logged(event("iommu-fault", gpu=A)), pci__0__driver="vfio-pci")),
    ("device.iommu-faults", logged(event("iommu-fault", gpu="0000:00:14.0"))),
    ("device.unexplained-log-errors", having(logged(event("iommu-fault", gpu=A)), pci__0__integrated=True)),
]


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


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (
            logged(event("power-cables", WORDS, A), started("0x24:0x1c:1603"), facts=SILENT),
            "device.power-cable-missing",
        ),
        (
            logged(
                event("gsp-firmware", REFUSED, A, device=FILE),
                event("gsp-failed", "RmInitAdapter: Cannot initialize GSP firmware RM"),
                started("0x61:0x56:1"),
                facts=SILENT,
            ),
            "device.gsp-firmware-missing",
        ),
        (logged(event("no-interrupts", gpu=A), started("0x11:0x45:1"), facts=SILENT), "device.no-interrupts"),
        (logged(event("gfw-boot"), started("0x62:0x55:1"), facts=SILENT), "device.gsp-failed"),
    ],
)
def test_one_cause_is_one_finding(facts: Facts, root: str) -> None:
    found, _ = findings(judge(facts, catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device"), ()))))
    assert [f.root.check.id for f in found] == [root]


@pytest.mark.parametrize(
    ("check", "facts", "severity"),
    [
        ("device.xid-hardware", logged(xid(157), facts=OLD), Severity.WARNING),
        ("device.xid-hardware", logged(xid(62), facts=OLD), Severity.ERROR),
        ("device.needs-reset", having(gpus__0__recovery_action="drain"), Severity.WARNING),
        ("device.needs-reset", having(gpus__0__recovery_action="reset"), Severity.ERROR),
        ("device.program-faults", fault(31, 5, pid="1"), Severity.ADVICE),
    ],
)
def test_how_bad_it_is(check: str, facts: Facts, severity: Severity) -> None:
    assert {verdict.severity for verdict in run(catalogue.load([check])[0], facts) if verdict.problem} == {severity}


def days(code: int, number: float, **changes: object) -> Facts:
    """A machine on which a GPU met an Xid days ago, and works."""
    one = LogEvent(kind="xid", text=f"Xid {code}", gpu=A, code=code, seconds=100.0)
    return having(logged(one, facts=OLD), log__now=100.0 + number * 86400, **changes)


@pytest.mark.parametrize(
    ("check", "facts", "severity"),
    [
        ("device.xid-hardware", days(62, 0.5), Severity.ERROR),
        ("device.xid-hardware", days(62, 3), Severity.WARNING),
        ("device.xid-hardware", days(62, 3, nvidia__cuda__code=999), Severity.ERROR),
        ("device.xid-driver", days(109, 0.5), Severity.WARNING),
        ("device.xid-driver", days(109, 3), Severity.ADVICE),
        ("device.xid-driver", days(109, 3, gpus__0__recovery_action="reset"), Severity.ERROR),
        ("device.xid-driver", days(109, 3, gpus__0__status="reset-required"), Severity.ERROR),
        ("device.nvlink-fault", days(74, 0.5), Severity.ERROR),
        ("device.nvlink-fault", days(74, 3), Severity.WARNING),
    ],
)
def test_what_is_days_ago_weighs_less(check: str, facts: Facts, severity: Severity) -> None:
    assert [verdict.severity for verdict in run(catalogue.load([check])[0], facts)] == [severity]


@pytest.mark.parametrize(
    ("code", "links", "cuda", "severities"),
    [
        (20034, True, 0, [Severity.WARNING]),
        (20034, True, 802, [Severity.ERROR]),
        (20034, False, 0, [Severity.ERROR]),
        (12028, True, 802, [Severity.ERROR]),  # the GPU hangs, though the guide calls it non-fatal
        (12021, True, 0, []),  # a corrected bit
    ],
)
def test_a_switch_fault_weighs_by_what_came_of_it(
    code: int, links: bool, cuda: int, severities: list[Severity]
) -> None:
    said = LogEvent(kind="sxid", text=f"SXid {code}", gpu="0000:c1:00.0", code=code)
    facts = logged(said, facts=having(gpus__0__nvlinks=(True, links), nvidia__cuda__code=cuda))
    assert [v.severity for v in run(catalogue.load(["device.nvlink-fault"])[0], facts) if v.problem] == severities


def test_the_first_fault_is_the_root() -> None:
    chosen = catalogue.load(["device.xid-hardware", "device.gsp-failed", "device.init-failed", "device.needs-reset"])
    halted = logged(xid(62), xid(119), facts=having(gpus__0__recovery_action="reset"))
    dead = logged(xid(143), event("gsp-failed"), started("0x62:0x65:1"), facts=SILENT)
    for facts, root in ((halted, "device.xid-hardware"), (dead, "device.gsp-failed")):
        found, _ = findings(judge(facts, chosen))
        assert [f.root.check.id for f in found] == [root]


def test_the_xid_explains_the_reset_that_the_driver_asks_for() -> None:
    chosen = catalogue.load(["device.xid-driver", "device.needs-reset"])
    found, _ = findings(judge(days(109, 0.1, gpus__0__recovery_action="reset"), chosen))
    assert [f.root.check.id for f in found] == ["device.xid-driver"]


@pytest.mark.parametrize(
    ("action", "command"),
    [
        ("recover-imex-domain", "sudo systemctl restart nvidia-imex"),
        ("reboot", "sudo reboot"),
        ("system-reboot", "sudo reboot"),
        ("reset", "sudo nvidia-smi --gpu-reset -i 0"),
    ],
)
def test_the_action_that_the_driver_asks_for_is_the_one_to_type(action: str, command: str) -> None:
    one = catalogue.load(["device.needs-reset"])[0]
    facts = having(gpus__0__recovery_action=action, nvidia__kernel__modules=("nvidia", "nvidia_uvm"))
    [verdict] = [v for v in run(one, facts) if v.problem]
    assert next(c for c in verdict.fixes[0].commands if not c.startswith("sudo fuser")) == command


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({}, "sudo apt-get install --reinstall nvidia-firmware-570-570.169"),
        ({"host__distribution__id": "debian"}, "sudo apt-get install firmware-nvidia-gsp"),
        (
            {"nvidia__kernel__packages": (("nvidia-driver-570", "570.169", "installed"),)},
            "sudo apt-get install --reinstall nvidia-driver-570",
        ),
        ({"nvidia__kernel__installer": "runfile"}, "sudo sh NVIDIA-Linux-x86_64-570.169.run"),
        ({"host__container": "docker"}, "ls -l /lib/firmware/nvidia/570.169/"),
    ],
)
def test_the_firmware_comes_from_where_the_driver_came(changes: dict[str, object], command: str) -> None:
    one = catalogue.load(["device.gsp-firmware-missing"])[0]
    facts = logged(event("gsp-firmware", REFUSED, A, device=FILE), facts=having(SILENT, **changes))
    [verdict] = run(one, facts)
    assert any(line.startswith(command) for line in verdict.fixes[0].commands), verdict.fixes[0].commands


def test_the_status_says_why_a_card_does_not_start() -> None:
    one = catalogue.load(["device.init-failed"])[0]
    [verdict] = run(one, logged(started("0x24:0x72:1568"), facts=SILENT))
    assert verdict.problem is not None
    assert "broken card" in (verdict.problem.cause or "")


def test_a_program_that_fails_on_several_cards_is_at_fault() -> None:
    two = nvidia_host(2)
    where = (A, "0000:02:00.0", A)
    faults = [
        LogEvent(kind="xid", text="Xid 31", gpu=g, code=31, seconds=60.0 * n, what={"pid": str(n), "process": "mold"})
        for n, g in enumerate(where, 1)
    ]
    one = catalogue.load(["device.program-faults"])[0]
    found = run(one, having(logged(*faults, facts=two), log__now=5 * 3600.0))
    assert [(v.severity, v.message.partition("ago). ")[2]) for v in found] == [
        (Severity.WARNING, "mold fails so on 2 GPUs: the program is at fault, not a card.")
    ] * 2
    # Twice is no habit.
    found = run(one, having(logged(*faults[:2], facts=two), log__now=5 * 3600.0))
    assert {v.outcome.value for v in found} == {"pass"}


def test_a_virtual_gpu_gets_no_ordinary_driver() -> None:
    guest = having(logged(xid(78), facts=SILENT), nvidia__kernel__gridd="active", nvidia__kernel__license="Unlicensed")
    [verdict] = run(catalogue.load(["device.vgpu-host-mismatch"])[0], guest)
    assert [fix.commands for fix in verdict.fixes] == [()]
    assert install_driver(guest).commands == ()
    azure = having(guest, cloud__provider="azure")
    assert "NvidiaGpuDriverLinux" in " ".join(install_driver(azure).commands)
