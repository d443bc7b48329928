"""A device filter of systemd on the host: every node of a GPU returns EPERM."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.facts import Facts
from gpudoctor.root_causes import findings
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import WHY, failing, having, nodes

CHECK = catalogue.load(["driver.device-nodes-denied"])[0]
UNITS = ("user.slice", "user-1000.slice", "user@1000.service")
SHOW = "systemctl show --property=Id,DevicePolicy,DeviceAllow user.slice user-1000.slice user@1000.service"
ALLOW = "sudo systemctl set-property {} 'DeviceAllow=char-nvidia* rwm'"
DENIED = failing(
    100,
    nvidia__kernel__nodes=nodes("nvidia0", "nvidia1", "nvidia2", error="EPERM") + nodes("nvidiactl", "nvidia-uvm"),
    nvidia__kernel__units=UNITS,
    nvidia__kernel__restricting_units=("user-1000.slice",),
    nvidia__nvml__code=0,
    nvidia__nvml__count=0,
    gpus=(),
    cluster__client_of=None,
)


def test_the_slice_is_named_and_the_rest_follows_from_it() -> None:
    found, _ = findings(judge(DENIED, catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device"), ()))))
    assert [f.root.check.id for f in found] == ["driver.device-nodes-denied"]
    root = found[0].root
    assert root.message == (
        "/dev/nvidia0 to /dev/nvidia2 cannot be opened: Operation not permitted (EPERM): a control group denies it to "
        "this process. user-1000.slice restricts devices."
    )
    assert [fix.commands for fix in root.fixes] == [(SHOW, ALLOW.format("user-1000.slice"))]


@pytest.mark.parametrize(
    ("changes", "commands"),
    [
        ({"nvidia__kernel__restricting_units": ()}, [(SHOW, ALLOW.format("UNIT"))]),
        ({"nvidia__kernel__restricting_units": (), "nvidia__kernel__units": ()}, [("cat /proc/self/cgroup",)]),
    ],
)
def test_what_is_typed_where_less_is_known(changes: dict[str, tuple[str, ...]], commands: list[tuple[str]]) -> None:
    assert [fix.commands for fix in run(CHECK, having(DENIED, **changes))[0].fixes] == commands


def test_a_login_node_asks_for_a_gpu_first() -> None:
    fixes = run(CHECK, having(DENIED, cluster__client_of="slurm"))[0].fixes
    assert [fix.commands[0] for fix in fixes] == ["srun --gpus=1 --pty bash", SHOW]


@pytest.mark.parametrize(
    ("facts", "outcomes"),
    [
        (nvidia_host(2), ["pass"]),
        (having(DENIED, nvidia__kernel__nodes=nodes("nvidia0", error="EPERM") + nodes("nvidia1")), ["pass"]),
        (having(DENIED, nvidia__kernel__nodes=nodes("nvidia0", error="EACCES")), ["pass"]),
        (having(DENIED, nvidia__kernel__nodes=WHY), ["unknown"]),
        (having(DENIED, cluster__scheduler="slurm", cluster__job="7"), ["pass"]),  # cluster.job-without-gpu
        (having(DENIED, host__container="docker"), ["skipped"]),  # container.device-access-lost
    ],
)
def test_not_its_cause(facts: Facts, outcomes: list[str]) -> None:
    assert [outcome for outcome, _ in ask(CHECK, facts)] == outcomes
