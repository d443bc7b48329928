"""The firmware or the hypervisor gave the GPU no room for its memory windows."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import card_firmware
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return card_firmware.more_room(facts, query("nvidia-smi"))


@check(
    title="BAR1 not assigned: the GPU's memory window has no address",
    severity=Severity.ERROR,
    cause="A GPU with much memory needs large 64-bit address windows (BARs). The firmware or hypervisor found no room "
    "for them (no 64-bit MMIO, Above 4G Decoding off), so BAR1 is 0M, invalid, and the driver's probe fails.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/gpu-operator/issues/492",
        "https://github.com/NVIDIA/open-gpu-kernel-modules",
    ),
    targets=not_wsl,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def bar_unassigned(facts: Facts) -> Problem | None:
    """The driver reports it in the log; or sysfs shows a window of size 0 on a card without a driver."""
    faulty = [on for _, on in nvidia_addresses(facts) if _without_window(on)]
    if not faulty:
        return None
    virtual = hypervisor(facts)
    where = f"the hypervisor ({virtual})" if virtual else "the firmware"
    names = " and ".join(on.name for on in faulty[:4])
    have = "have no memory window" if len(faulty) > 1 else "has no memory window"
    # The kernel's message is only evidence: it also logs the first try, after which it finds room.
    logged = tuple(event for kind in ("bar-invalid", "bar-no-space") for on in faulty for event in on.events(kind))
    named = (re.search(r"BAR\d(?= is 0M)", event.text) for event in logged)
    window = next((found[0] for found in named if found), "BAR1")
    message = f"{names} {have}: {window} is 0M, invalid. It was not assigned by {where}."
    return Problem(message, texts(logged))


def _without_window(on: OnAddress) -> bool:
    if on.answers:
        return False
    return bool(on.events("bar-invalid")) or (on.card is not None and on.card.bar1 == 0 and on.card.driver is None)
