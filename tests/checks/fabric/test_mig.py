"""NVSwitch boards and MIG: each illness by a machine that has it, and by one that only looks like it."""

from typing import Any

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.facts import Facts, LogEvent
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.nvidia_machines import WHY, failing, having, logged

BOARD: dict[str, Any] = {"pci__0__device": "2330", "gpus__0__fabric_state": "in-progress"}


def board(**changes: Any) -> Facts:
    """An H100 for boards with NVSwitch, whose fabric is not set up."""
    plain = {"nvidia__cuda__code": 802, "nvidia__kernel__fabric_manager": "inactive"}
    return having(**(BOARD | plain | changes))


def mig(*modes: tuple[bool | None, tuple[str, ...] | None], **changes: Any) -> Facts:
    """A machine with one GPU for each pair of MIG's mode and instances."""
    facts = nvidia_host(len(modes))
    gpus = facts.gpus if isinstance(facts.gpus, tuple) else ()
    made = [
        msgspec.structs.replace(g, mig=m, mig_pending=m, mig_devices=d) for g, (m, d) in zip(gpus, modes, strict=True)
    ]
    return having(facts, gpus=tuple(made), **changes)


SYMBOL = {"module": "nvidia_peermem", "text": "ib_register_peer_memory_client"}
REFUSED = logged(
    LogEvent(kind="symbol-mismatch", text="nvidia_peermem: disagrees about version of symbol ...", what=SYMBOL),
    LogEvent(kind="unknown-symbol", text="nvidia_peermem: Unknown symbol ... (err -22)", what=SYMBOL),
)

ILL = [
    (
        "fabric.manager-down",
        board(),
        "nvidia-fabricmanager is inactive, and this board's GPUs need it (cuInit 802). GPU 0 waits for the fabric.",
    ),
    (
        "fabric.manager-down",
        board(
            nvidia__kernel__fabric_manager=None, pci__0__generation="Blackwell", nvidia__kernel__modules=("mlx5_ib",)
        ),
        "nvidia-fabricmanager is not installed, and this board's GPUs need it (cuInit 802). GPU 0 waits for the "
        "fabric. The "
        "modules ib_umad, which it needs on this board, are not loaded.",
    ),
    (
        "fabric.manager-mismatch",
        board(nvidia__kernel__fabric_manager="failed", nvidia__kernel__fabric_manager_version="570.133.20"),
        "nvidia-fabricmanager is 570.133.20, the driver is 570.169: the versions do not match.",
    ),
    (
        "fabric.manager-mismatch",
        board(
            nvidia__kernel__fabric_manager="failed",
            nvidia__kernel__fabric_manager_version=WHY,
            nvidia__kernel__packages=(
                ("nvidia-driver-570-server", "570.169-0ubuntu1", "ii"),
                ("nvidia-fabricmanager-570", "1:570.133.20-0ubuntu0.22.04.1", "ii"),
            ),
        ),
        "nvidia-fabricmanager is 570.133.20, the driver is 570.169: the versions do not match.",
    ),
    (
        "fabric.not-ready",
        board(nvidia__kernel__fabric_manager="active"),
        "cuInit returns 802: GPU 0 has not joined the NVLink fabric.",
    ),
    (
        "fabric.peermem-mismatch",
        REFUSED,
        "The kernel rejects nvidia_peermem: it was built against another ib_core than the loaded one (the versions "
        "of ib_register_peer_memory_client disagree).",
    ),
    (
        "mig.no-instances",
        mig((False, None), (True, ()), (True, ())),
        "MIG is enabled on GPU 1, 2 without any instance, so CUDA has no device there (1 of 3 GPUs are not affected).",
    ),
    (
        "mig.mixed-modes",
        mig((False, None), (True, ("MIG-1",))),
        "MIG is enabled on GPU 1 and disabled on GPU 0.",
    ),
    (
        "mig.change-pending",
        having(gpus__0__mig=False, gpus__0__mig_pending=True),
        "MIG is disabled on GPU 0 (NVIDIA GeForce RTX 4090) and will be enabled after its next reset.",
    ),
]

WELL = [
    (
        "fabric.manager-down",
        board(nvidia__cuda__code=0),
    ),  # boards of four such modules have no NVSwitch and need nobody
    ("fabric.manager-down", failing(802, nvidia__kernel__fabric_manager="inactive")),  # a card without NVSwitch
    ("fabric.manager-down", board(nvidia__kernel__fabric_manager=WHY, host__container="docker")),
    ("fabric.manager-mismatch", having(nvidia__kernel__fabric_manager_version="570.133.20")),
    ("fabric.not-ready", failing(802)),
    ("fabric.peermem-mismatch", having(REFUSED, nvidia__kernel__modules=("nvidia", "nvidia_peermem"))),
    ("mig.no-instances", mig((True, ("MIG-1",)))),
    ("mig.mixed-modes", mig((True, ("MIG-1",)), (True, ("MIG-2",)))),
    ("mig.mixed-modes", mig((False, None), (None, None))),
]

UNKNOWN = [
    ("fabric.manager-down", board(nvidia__kernel__fabric_manager=WHY)),
    ("fabric.manager-mismatch", board(nvidia__kernel__fabric_manager_version=WHY)),
    ("fabric.not-ready", board(nvidia__cuda__code=WHY)),
    ("fabric.peermem-mismatch", having(log__events=WHY)),
    ("mig.no-instances", having(gpus__0__mig=WHY)),
    ("mig.no-instances", having(gpus__0__mig=True, gpus__0__mig_devices=WHY)),
    ("mig.mixed-modes", having(nvidia_host(2), gpus__0__mig=WHY)),
    ("mig.change-pending", having(gpus__0__mig=WHY)),
    ("mig.change-pending", having(gpus__0__mig=False, gpus__0__mig_pending=WHY)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


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


def test_the_manager_is_installed_in_the_drivers_version() -> None:
    one = catalogue.load(["fabric.manager-down"])[0]
    fixes = one.fixes_for(board(nvidia__kernel__fabric_manager=None))
    assert fixes[0].commands == (
        "sudo apt-get install 'nvidia-fabricmanager-570=570.169*'",
        "sudo systemctl enable --now nvidia-fabricmanager",
    )


def test_programs_end_before_mig_is_disabled() -> None:
    """Else the change stays pending: mig.change-pending."""
    off = catalogue.load(["mig.no-instances"])[0].fixes_for(mig((True, ()), (True, ())))[0]
    words = [" ".join(command.split()[1:3]) for command in off.commands]
    assert words[0] == "fuser -v"
    assert words.index("nvidia-smi -i") == words.index("nvidia-smi --gpu-reset") - 1
    assert off.commands[words.index("nvidia-smi -i")] == "sudo nvidia-smi -i 0,1 -mig 0"
