"""NVLink's fabric beyond its manager: the subnet manager, health, registration, IMEX, heat and recovered links."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, judge, run
from gpudoctor.facts import DeviceNode, Facts, LogEvent, PackageSource
from gpudoctor.fixes.driver import install_driver
from gpudoctor.fixes.fabric import multi_node, start
from gpudoctor.root_causes import findings
from gpudoctor.tasks.as_typed import typed
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.healthy_nvidia import A100, B200, H100, hgx, several
from tests.checks.nvidia_machines import WHY, event, having, logged

NAME = "GPU 0 (NVIDIA H100 80GB HBM3)"
GB200 = B200 | {"name": "NVIDIA GB200", "fabric_of_several": True}
SWITCHES = ("0000:c1:00.0", "0000:c2:00.0")
CHANNEL = DeviceNode(path="/dev/nvidia-caps-imex-channels/channel0", mode="666", error=None)


def board(**changes: Any) -> Facts:
    """An HGX B200 whose fabric manager waits in vain for the subnet manager."""
    plain = {
        "nvidia__cuda__code": 802,
        "nvidia__kernel__fabric_manager": "failed",
        "nvidia__kernel__subnet_manager": None,
        "nvidia__kernel__modules": ("nvidia", "mlx5_ib", "ib_umad"),
    }
    return having(hgx(B200, fabric_state="in-progress"), **(plain | changes))


def rack(changes: dict[str, Any] | None = None, **more: Any) -> Facts:
    """One of the machines of a GB200 NVL72."""
    facts = having(several(4, changes=GB200 | (changes or {}), device="2941"), host__platform="grace")
    nodes = facts.nvidia.kernel.nodes
    assert isinstance(nodes, tuple)
    return having(facts, **({"nvidia__kernel__imex": "active", "nvidia__kernel__nodes": (*nodes, CHANNEL)} | more))


def guest(gpus: int = 2, hypervisor: str = "kvm", **changes: Any) -> Facts:
    """A virtual machine with GPUs of an HGX H200, none of whose switches it has."""
    facts = several(gpus, changes=H100 | {"fabric_state": "completed"}, device="2335")
    plain = {
        "host__virtual": hypervisor,
        "nvidia__cuda__code": 802,
        "nvidia__kernel__fabric_manager": None,
    }
    return having(facts, **(plain | changes))


def heat(*codes: tuple[int, str]) -> Facts:
    """A board with thermal events of its switches."""
    events = [LogEvent(kind="sxid", text=f"SXid {code} of {gpu}", gpu=gpu, code=code) for code, gpu in codes]
    return logged(*events, facts=hgx(H100, 2))


def recovered(*counts: object, **changes: Any) -> Facts:
    """A machine with an H100 for each count of recovered links."""
    facts = several(len(counts), changes=H100 | changes)
    return having(facts, **{f"gpus__{i}__nvlink_recoveries": count for i, count in enumerate(counts)})


ILL = [
    (
        "fabric.subnet-manager-missing",
        board(),
        "nvlsm is not installed; without it nvidia-fabricmanager cannot reach this board's NVSwitches.",
    ),
    (
        "fabric.not-ready",
        rack({"fabric_state": "in-progress"}, nvidia__cuda__code=802),
        "cuInit returns 802: GPUs 0-3 have not joined the NVLink fabric. The controller on the rack's switch "
        "trays has to do that.",
    ),
    (
        "fabric.not-ready",
        guest(),
        "cuInit returns 802: this virtual machine has 2 GPUs of a board with NVSwitch and none of its switches: the "
        "host has to activate the fabric partition of these GPUs.",
    ),
    (
        "fabric.not-ready",
        guest(1, "other", nvidia__kernel__fabric_manager="failed"),
        "cuInit returns 802: this virtual machine has 1 GPU of a board with NVSwitch and none of its switches: the "
        "host has to activate the fabric partition of this GPU.",
    ),
    (
        "fabric.manager-down",
        having(hgx(H100, 4), nvidia__cuda__code=802, nvidia__kernel__fabric_manager=None, host__virtual="kvm"),
        "nvidia-fabricmanager is not installed, and this board's GPUs need it (cuInit 802).",
    ),
    (
        "fabric.unhealthy",
        several(1, changes=H100 | {"fabric_health": ("degraded-bandwidth", "route-recovery", "insufficient-nvlinks")}),
        f"The NVLink fabric of {NAME} is unhealthy: its bandwidth is degraded; too few of the GPU's links are up.",
    ),
    (
        "fabric.unhealthy",
        several(1, changes=H100 | {"fabric_health": ("limited-capacity",)}),
        f"The NVLink fabric of {NAME} is reduced: its capacity is limited.",
    ),
    (
        "fabric.unhealthy",
        several(1, changes=H100 | {"fabric_health": ("route-recovery",)}),
        f"The NVLink fabric of {NAME} is recovering routes.",
    ),
    (
        "fabric.registration-failed",
        having(hgx(H100, 2), gpus__3__fabric_status=999, gpus__5__fabric_status=999),
        "The registration of GPU 3, 5 with the NVLink fabric failed (NVML 999, internal driver error).",
    ),
    (
        "fabric.imex-failed",
        rack(nvidia__kernel__imex="failed"),
        "The service nvidia-imex has failed, so memory cannot be shared over NVLink with the rack's other machines.",
    ),
    (
        "fabric.imex-channel-missing",
        rack(nvidia__kernel__nodes=()),
        "nvidia-imex runs, but there is no channel in /dev/nvidia-caps-imex-channels: CUDA cannot share memory with "
        "other nodes.",
    ),
    (
        "fabric.switch-hot",
        heat((10004, SWITCHES[0]), (10005, SWITCHES[0]), (10004, SWITCHES[1])),
        f"The NVSwitch at {SWITCHES[1]} reported that it is too hot (SXid 10004), and has not recovered.",
    ),
    (
        "link.nvlink-errors",
        recovered(240, 3),
        f"The NVLinks of {NAME} were recovered 240 times since the driver was loaded; on an identical GPU here 3 "
        "times.",
    ),
]

WELL = [
    # The host's manager sets the switches up for a guest that has none.
    *(("fabric.manager-down", guest(2, hypervisor)) for hypervisor in ("kvm", "vmware", "other")),
    ("fabric.manager-down", guest(nvidia__kernel__fabric_manager="failed")),
    ("fabric.not-ready", guest(nvidia__cuda__code=0)),
    ("fabric.subnet-manager-missing", board(nvidia__cuda__code=0)),
    ("fabric.subnet-manager-missing", board(nvidia__kernel__subnet_manager="/opt/nvidia/nvlsm/sbin/nvlsm")),
    ("fabric.subnet-manager-missing", board(nvidia__kernel__fabric_manager=None)),  # the manager itself comes first
    ("fabric.subnet-manager-missing", having(hgx(H100, 4), nvidia__cuda__code=802)),
    # A rack's fabric is set up on its switch trays.
    ("fabric.subnet-manager-missing", rack({"fabric_state": "in-progress"}, nvidia__cuda__code=802)),
    ("fabric.manager-down", rack({"fabric_state": "in-progress"}, nvidia__cuda__code=802)),
    ("fabric.unhealthy", several(1, changes=H100 | {"fabric_health": ("manager-disconnected", "no-partition")})),
    ("fabric.unhealthy", several(1, changes=H100 | {"fabric_state": "not-supported", "fabric_health": WHY})),
    ("fabric.unhealthy", several(1, changes=H100 | {"fabric_health": None})),  # an older driver
    ("fabric.registration-failed", having(hgx(H100, 2), gpus__3__fabric_state="in-progress", gpus__3__fabric_status=9)),
    ("fabric.imex-failed", rack(nvidia__kernel__imex=None)),  # Kubernetes runs it in pods
    ("fabric.imex-failed", having(hgx(H100, 4), nvidia__kernel__imex="failed")),
    ("fabric.imex-channel-missing", rack(nvidia__kernel__imex=None, nvidia__kernel__nodes=())),
    ("fabric.imex-channel-missing", hgx(H100, 4)),
    ("fabric.switch-hot", heat((10004, SWITCHES[0]), (10005, SWITCHES[0]))),
    ("fabric.switch-hot", heat((20009, SWITCHES[0]))),
    ("link.nvlink-errors", recovered(9, 0)),
    ("link.nvlink-errors", recovered(240, 230)),  # all alike: the fabric manager was restarted
    ("link.nvlink-errors", recovered(240)),
    ("link.nvlink-errors", recovered(None, None)),  # an old driver
    ("link.nvlink-errors", recovered(WHY, nvlinks=None)),
]

UNKNOWN = [
    ("fabric.subnet-manager-missing", board(nvidia__cuda__code=WHY)),
    ("fabric.subnet-manager-missing", board(nvidia__kernel__subnet_manager=WHY)),
    (
        "fabric.subnet-manager-missing",
        board(nvidia__kernel__fabric_manager=WHY, nvidia__kernel__fabric_manager_version=None),
    ),
    ("fabric.unhealthy", several(1, changes=H100 | {"fabric_state": WHY})),
    ("fabric.unhealthy", several(1, changes=H100 | {"fabric_health": WHY})),
    ("fabric.registration-failed", several(1, changes=H100 | {"fabric_status": WHY})),
    ("fabric.imex-failed", rack(nvidia__kernel__imex=WHY)),
    ("fabric.imex-channel-missing", rack(nvidia__kernel__nodes=WHY)),
    ("link.nvlink-errors", recovered(WHY)),
    ("link.nvlink-errors", recovered(5, nvlinks=WHY)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    answers = ask(catalogue.load([check])[0], facts)
    assert [answer for answer in answers if answer[0] != "pass"] == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    machines = (nvidia_host(2), hgx(H100, 4), hgx(B200), rack())
    assert {outcome for facts in machines for outcome, _ in ask(one, facts)} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


@pytest.mark.parametrize(
    ("facts", "root"),
    [
        (board(), "fabric.subnet-manager-missing"),
        (guest(), "fabric.not-ready"),
        (rack({"fabric_state": "in-progress"}, nvidia__cuda__code=802), "fabric.not-ready"),
        (
            board(
                nvidia__nvml__confidential=True,
                nvidia__nvml__accepts_work=False,
                nvidia__kernel__subnet_manager="/usr/sbin/nvlsm",
            ),
            "device.confidential-not-ready",
        ),
        (
            having(nvidia__cuda__code=802, nvidia__nvml__confidential=True, nvidia__nvml__accepts_work=False),
            "device.confidential-not-ready",
        ),
        (
            logged(
                event("confidential-guest"),
                facts=having(nvidia__cuda__code=802, nvidia__nvml__confidential=WHY, gpus__0__fabric_state="completed"),
            ),
            "device.confidential-not-ready",
        ),
    ],
)
def test_one_cause_is_one_finding(facts: Facts, root: str) -> None:
    chosen = catalogue.select(catalogue.ids(), ("driver", "device", "fabric", "link", "health"), ())
    found, _ = findings(judge(facts, catalogue.load(chosen)))
    assert [f.root.check.id for f in found] == [root]


def test_a_refusal_while_cuda_runs_is_a_warning() -> None:
    one = catalogue.load(["fabric.registration-failed"])[0]
    facts = having(hgx(H100, 2), gpus__3__fabric_status=999)
    assert [v.severity for v in run(one, facts)] == [Severity.WARNING]
    assert [v.severity for v in run(one, having(facts, nvidia__cuda__code=802))] == [Severity.ERROR]


def test_the_fabric_manager_is_installed_with_what_it_needs() -> None:
    one = catalogue.load(["fabric.manager-down"])[0]
    fix = one.fixes_for(board(nvidia__kernel__fabric_manager=None))[0]
    assert any("nvlsm" in command for command in fix.commands)
    hopper = having(hgx(H100, 4), nvidia__kernel__fabric_manager=None)
    assert not any("nvlsm" in command for command in one.fixes_for(hopper)[0].commands)


def test_a_masked_unit_is_unmasked_first() -> None:
    one = catalogue.load(["fabric.manager-down"])[0]
    masked = having(hgx(H100, 4), nvidia__kernel__fabric_manager="masked", nvidia__cuda__code=802)
    commands = " ".join(one.fixes_for(masked)[0].commands)
    assert commands.index("systemctl unmask nvidia-fabricmanager") < commands.index("systemctl enable --now")
    assert "unmask" not in " ".join(
        one.fixes_for(having(masked, nvidia__kernel__fabric_manager="inactive"))[0].commands
    )


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_a_guest_without_switches_is_never_told_to_install_a_manager(gpus: int) -> None:
    one = catalogue.load(["fabric.not-ready"])[0]
    fixes = one.fixes_for(guest(gpus))
    assert [fix.place for fix in fixes] == ["outside", "here"][: 2 if gpus == 1 else 1]
    assert not any("install" in command or "systemctl" in command for fix in fixes for command in fix.commands)
    assert any("NVreg_NvLinkDisable=1" in fix.message for fix in fixes) is (gpus == 1)


@pytest.mark.parametrize(("architecture", "spans"), [("x86_64", False), ("aarch64", True)])
def test_a_hopper_board_has_its_own_switches_whatever_its_fabrics_uuid(architecture: str, spans: bool) -> None:
    changes = H100 | {"fabric_of_several": True}
    assert multi_node(having(several(1, changes=changes, device="2330"), host__architecture=architecture)) is spans
    assert not multi_node(having(hgx(H100, 2), gpus__0__fabric_of_several=True, host__architecture="aarch64"))


def test_a_recovery_that_runs_is_waited_for() -> None:
    one = catalogue.load(["fabric.unhealthy"])[0]
    facts = several(1, changes=H100 | {"fabric_health": ("access-timeout-recovery",)})
    ((_, subject),) = one.targets(facts)
    (fix,) = one.fixes_for(subject)
    assert fix.message.startswith("Wait")
    assert fix.commands == ("nvidia-smi -q | grep -A12 Fabric",)


NVIDIAS = {"host__sources": (PackageSource(path="cuda.list", kind="nvidia"),)}
PLAIN = having(several(1))


@pytest.mark.parametrize(
    ("facts", "driver", "manager"),
    [
        (hgx(H100, 4), "nvidia-driver-580-server-open", "nvidia-fabricmanager-580"),
        (having(hgx(H100, 4), **NVIDIAS), "nvidia-driver-580-open", "nvidia-fabricmanager-580"),
        (hgx(B200), "nvidia-driver-580-server-open", "nvidia-fabricmanager-580 nvlsm"),
        (having(PLAIN, nvidia__kernel__fabric_manager="inactive"), "nvidia-driver-580-server-open", "-580"),
        (having(PLAIN, nvidia__kernel__fabric_manager=None), "nvidia-driver-580-open", ""),
        (having(hgx(H100, 4), host__container="docker"), "nvidia-driver-580-open", ""),
        (guest(), "nvidia-driver-580-open", ""),
        (rack(), "nvidia-driver-580-open", ""),
    ],
)
def test_a_driver_of_another_branch_comes_with_its_fabric_manager(facts: Facts, driver: str, manager: str) -> None:
    fix = install_driver(facts, 580, "open")
    commands = [command for command in fix.commands if "install" in command]
    assert commands[0].endswith(f" {driver}")
    assert len(commands) == (2 if manager else 1)
    assert all(command.endswith(manager) for command in commands[1:])
    assert ("fabric manager" in fix.message) == bool(manager)


def _with_links(facts: Facts, *down: bool) -> Facts:
    return having(facts, gpus__0__nvlinks=down, gpus__0__nvlink_recoveries=240, gpus__1__nvlink_recoveries=0)


V100 = {"name": "Tesla V100-SXM2-32GB", "capability": "7.0", "nvlinks": (True,) * 6, "fabric_state": None}
BRIDGED = several(2, changes={"name": "NVIDIA RTX A6000", "nvlinks": (True,) * 4, "fabric_state": None})


@pytest.mark.parametrize("check", ["link.nvlink-down", "link.nvlink-errors"])
@pytest.mark.parametrize(
    ("facts", "bridge", "switch"),
    [
        (_with_links(BRIDGED, True, True, True, False), True, False),
        (_with_links(hgx(H100, 4), *[True] * 17, False), False, True),
        (_with_links(several(2, changes=V100), *[True] * 5, False), False, False),
    ],
)
def test_only_cards_have_a_bridge_to_reseat(check: str, facts: Facts, bridge: bool, switch: bool) -> None:
    [verdict] = [one for one in run(catalogue.load([check])[0], facts) if one.problem]
    assert ("bridge" in verdict.fixes[0].message) is bridge
    assert ("NVSwitch" in verdict.fixes[0].message) is switch


def test_traffic_has_no_links_left_where_all_are_down() -> None:
    check = catalogue.load(["link.nvlink-down"])[0]
    causes = [
        run(check, having(hgx(A100, 6), gpus__2__nvlinks=links))[2].problem for links in ((False,) * 12, (True,) * 11)
    ]
    assert [problem.cause for problem in causes if problem] == [
        "A link did not train, or was disabled after errors, or its NVSwitch failed; traffic between GPUs uses PCIe."
    ]


@pytest.mark.parametrize(("state", "shown"), [("in-progress", "Fabric"), ("not-supported", "nvlink"), (WHY, "nvlink")])
def test_what_shows_the_fabric_is_there_on_this_board(state: object, shown: str) -> None:
    facts = having(hgx(A100, 6, fabric_state=state), nvidia__kernel__fabric_manager="failed")
    first = start(facts)[0]
    assert first.verify is not None
    assert shown in typed((first.verify,))[0]
