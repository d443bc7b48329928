"""Secure Boot rejects a module though its key is enrolled: the kernel does not trust such keys for modules."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Facts, LogEvent
from tests.checks.nvidia_machines import OTHER, disk, event, having, logged, unloaded

REJECTED = event("module-rejected", "Loading of module with unavailable key is rejected")
SIGNED: dict[str, Any] = {
    "host__distribution__id": "deepin",
    "host__distribution__like": ("debian",),
    "host__kernel__secure_boot": True,
    "host__kernel__lockdown": "integrity",
    "nvidia__kernel__on_disk": (disk(signer="DKMS module signing key"),),
    "nvidia__kernel__signer_enrolled": True,
}


def facts(*events: LogEvent, **changes: Any) -> Facts:
    """A module that DKMS signed with an enrolled key."""
    return logged(*events, facts=unloaded(**(SIGNED | changes)))


@pytest.mark.parametrize(
    ("others", "first"),
    [((disk(kernel=OTHER),), f"Boot kernel {OTHER}, which has the module"), ((), "Boot a kernel of the distribution")],
)
def test_another_kernel_takes_the_key(others: tuple[Any, ...], first: str) -> None:
    (verdict,) = run(
        catalogue.load(["driver.refused-by-secure-boot"])[0],
        facts(REJECTED, nvidia__kernel__other_kernels=others),
    )
    assert "a key that is enrolled, but that this kernel does not trust" in verdict.message
    assert verdict.problem is not None
    assert "CONFIG_INTEGRITY_MACHINE_KEYRING" in (verdict.problem.cause or "")
    assert verdict.fixes[0].message.startswith(first)
    assert not any("mokutil" in command for fix in verdict.fixes for command in fix.commands)


@pytest.mark.parametrize(
    "machine",
    [
        facts(),  # nothing was rejected, and the key is enrolled
        facts(event("module-rejected", "could not insert 'vboxdrv': Key was rejected by service", module="vboxdrv")),
    ],
)
def test_what_is_of_another_module_is_not_of_this_one(machine: Facts) -> None:
    (verdict,) = run(catalogue.load(["driver.refused-by-secure-boot"])[0], machine)
    assert verdict.problem is None


def test_a_key_that_is_not_enrolled_is_enrolled() -> None:
    machine = having(facts(REJECTED), nvidia__kernel__signer_enrolled=False)
    (verdict,) = run(catalogue.load(["driver.refused-by-secure-boot"])[0], machine)
    assert "a key that is not enrolled" in verdict.message
    assert any("mokutil --import" in command for fix in verdict.fixes for command in fix.commands)


def test_a_key_that_was_imported_waits_for_an_answer() -> None:
    pending = facts(REJECTED, nvidia__kernel__signer_enrolled=False, nvidia__kernel__key_pending=True)
    (verdict,) = run(catalogue.load(["driver.refused-by-secure-boot"])[0], pending)
    assert "nobody has confirmed it in the boot menu" in verdict.message
    assert verdict.fixes[0].message.startswith("Reboot, and at the machine's own screen press a key")
    assert verdict.fixes[0].commands == ("sudo reboot",)
    assert any("mokutil --import" in command for command in verdict.fixes[1].commands)
