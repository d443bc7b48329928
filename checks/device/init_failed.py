"""The driver took the card and could not initialise it."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.remedies import module
from gpudoctor.subjects import in_container
from gpudoctor.views.cards import OnAddress, nvidia_addresses
from gpudoctor.views.log import texts
from gpudoctor.views.reasons import OTHER_DRIVERS, UNFIT


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if in_container(on.facts):
        return (module.on_the_host("On the host: power-cycle the machine; the log of its kernel has the reason."),)
    cycle = Fix(
        "Shut down, take the power off for a minute, and start from cold.",
        ("sudo poweroff",),
        "power-cycle",
        root=True,
        needs="reboot",
        verify="nvidia-smi",
    )
    board = Fix(
        "If it stays so: enable Above 4G Decoding in the firmware's set-up, check the card's power cable and "
        "seating, and try it in another slot or machine; a card that fails there too is to be replaced.",
        (),
        "replace-hardware",
    )
    return (cycle, board)


@check(
    title="The driver cannot initialise a GPU",
    severity=Severity.ERROR,
    cause="The module found the card and its start-up (RmInitAdapter) failed: a GPU in a bad state, missing power, "
    "address windows that do not fit, or a broken card. nvidia-smi then says that no devices were found.",
    fixes=_fixes,
    references=("https://github.com/NVIDIA/open-gpu-kernel-modules",),
    each=nvidia_addresses,
    because=("device.fallen-off-the-bus", "device.gsp-failed", "device.bar-unassigned", *OTHER_DRIVERS, *UNFIT),
    affects=("everything",),
    seen=("simulated 2026-11",),
)
def init_failed(on: OnAddress) -> Problem | None:
    """RmInitAdapter failed on a card that NVML does not list."""
    said = on.events("rm-init-failed")
    if not said or on.answers:
        return None
    codes = ", ".join(dict.fromkeys(e.what["code"] for e in said if "code" in e.what))
    return Problem(
        f"{on.name} could not be initialised: RmInitAdapter failed{f' ({codes})' if codes else ''}.", texts(said)
    )
