"""A GPU that is taken from the driver while programs have it open."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.facts import Facts
from gpudoctor.root_causes import findings
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import event, failing, having, logged, xid

(CHECK,) = catalogue.load(["device.removal-waits"])
GPU = "0000:01:00.0"
WAITS = event("removal-waits", f"NVRM: Attempting to remove device {GPU} with non-zero usage count!", GPU)
GONE = failing(999, facts=having(nvidia_host(), pci=(), gpus=()))
UNBOUND = failing(100, gpus=(), pci__0__driver=None)
NEWER = having(UNBOUND, nvidia__kernel__loaded="595.99.02")


@pytest.mark.parametrize(
    ("facts", "end"),
    [
        (UNBOUND, f"{GPU} (AD102 [GeForce RTX 4090]), and waits: programs still have it open."),
        (GONE, f"{GPU}, and waits: programs still have it open. It is gone from the PCI bus."),
    ],
)
def test_it_is_unbound_or_gone(facts: Facts, end: str) -> None:
    assert ask(CHECK, logged(WAITS, facts=facts)) == [
        ("problem", f"NVIDIA's driver was asked to release the GPU at {end}")
    ]


@pytest.mark.parametrize(
    "facts",
    [
        logged(WAITS, event("removal-goes-on", gpu=GPU), facts=UNBOUND),
        logged(WAITS, facts=having(UNBOUND, pci__0__driver="vfio-pci")),  # handed over
        logged(WAITS),  # it works again
        logged(facts=UNBOUND),
    ],
)
def test_it_went_on(facts: Facts) -> None:
    assert ask(CHECK, facts) == [("pass", "")]


def test_a_gpu_that_is_gone_is_reported_once() -> None:
    """Neither next to one that is missing on the bus, nor where the bus lost it."""
    for events, root in (((WAITS,), CHECK.id), ((xid(79), WAITS), "device.fallen-off-the-bus")):
        roots, _ = findings(
            judge(
                logged(*events, facts=GONE), catalogue.load(catalogue.select(catalogue.ids(), ("driver", "device"), ()))
            )
        )
        followers = {found.root.check.id: {v.check.id for v in found.consequences} for found in roots}
        assert "device.driver-without-gpu" in followers[root]
        assert root == CHECK.id or CHECK.id not in followers


def test_from_595_on_only_a_reboot_ends_it() -> None:
    older, newer = (run(CHECK, logged(WAITS, facts=facts))[0].fixes for facts in (UNBOUND, NEWER))
    assert [fix.action for fix in older[:2]] == ["restart-process", "reboot"]
    assert newer[0].action == "reboot"
