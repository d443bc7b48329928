"""What the machine around a card does for it: who cuts its power, and which ports give it room."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Facts, Thunderbolt
from gpudoctor.fixes.card_firmware import look_at_card, power_cycle
from gpudoctor.tasks.as_typed import typed
from tests.builders import change, nvidia_host
from tests.checks.device.test_log import SILENT, started
from tests.checks.nvidia_machines import event, logged, unloaded, xid

METAL = "Shut down and disconnect the power."


def _on(virtual: str | None, provider: str | None = None, container: str | None = None) -> Facts:
    facts = change(nvidia_host(), "host.virtual", virtual)
    return change(change(facts, "cloud.provider", provider), "host.container", container)


@pytest.mark.parametrize(
    ("facts", "message", "command", "place"),
    [
        (_on(None), METAL, "poweroff", "here"),
        (_on("other"), METAL, "poweroff", "here"),  # the CPU's flag alone: also Windows' and a hidden hypervisor's
        (_on("kvm"), "Shut down this virtual machine and start it again from its host", "poweroff", "here"),
        (_on("kvm", "oracle"), "Shut down this virtual machine and start it again from its host", "poweroff", "here"),
        (_on("kvm", "aws"), "Stop the instance and start it again", "aws ec2 stop-instances", "outside"),
        (_on("kvm", "gcp"), "Stop the instance and start it again", "gcloud compute instances stop MACHINE", "outside"),
        (_on("microsoft", "azure"), "Redeploy the virtual machine", "az vm redeploy", "outside"),
        (_on("kvm", "aws", "docker"), "On the host: shut down and disconnect the power.", "poweroff", "outside"),
    ],
)
def test_only_metal_has_a_plug(facts: Facts, message: str, command: str, place: str) -> None:
    fix = power_cycle(facts, METAL)
    assert fix.message.startswith(message)
    assert any(command in line for line in typed(fix.tasks))
    assert fix.place == place


@pytest.mark.parametrize(
    ("virtual", "start", "place"), [(None, "Reseat it.", "here"), ("kvm", "If it still", "outside")]
)
def test_a_guest_has_no_slot(virtual: str | None, start: str, place: str) -> None:
    fix = look_at_card(_on(virtual), "Reseat it.")
    assert fix.message.startswith(start)
    assert fix.place == place


GONE = change(change(SILENT, "pci", ()), "gpus", ())


@pytest.mark.parametrize(
    ("id_", "facts"),
    [
        ("device.init-failed", logged(started("0x24:0x65:1568"), facts=SILENT)),
        ("device.gsp-failed", logged(event("gsp-wpr2"), started("0x62:0x40:2168"), facts=SILENT)),
        ("device.fallen-off-the-bus", logged(xid(79), facts=SILENT)),
        ("device.driver-without-gpu", GONE),
        ("driver.no-devices", SILENT),
    ],
)
@pytest.mark.parametrize(("virtual", "told"), [(None, True), ("kvm", False)])
def test_a_guest_is_not_sent_to_its_plug(id_: str, facts: Facts, virtual: str | None, told: bool) -> None:
    (check,) = catalogue.load([id_])
    (verdict,) = run(check, change(facts, "host.virtual", virtual))
    messages = " ".join(fix.message for fix in verdict.fixes)
    assert ("the power" in messages) is told


@pytest.mark.parametrize(("authorized", "first"), [(True, "hpmmioprefsize=16G"), (False, "Above 4G Decoding")])
def test_an_enclosures_port_needs_room(authorized: bool, first: str) -> None:
    box = Thunderbolt(place="0-1", name="Core X Chroma", vendor="Razer", authorized=authorized)
    one = catalogue.load(["device.bar-unassigned"])[0]
    assert first in one.fixes_for(unloaded(pci__0__bar1=0, host__thunderbolt=(box,)))[0].message
