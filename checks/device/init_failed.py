"""The driver took the card and could not initialise it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import module
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.cause_groups import UNFIT
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, query

# By the status in RmInitAdapter's numbers (knowledge/rm_init.toml).
_CAUSES = {
    "memory": "The driver could not bring up the card's own memory: as a rule a broken card, now and then one that is "
    "overclocked or too hot.",
    "lost": "The card stopped answering on PCI Express while the driver started it: power, seating or riser, a slot in "
    "a deep sleep state, or a broken card.",
    "vbios": "The driver does not accept the card's VBIOS: a flashed or damaged one, or in a virtual machine none "
    "that it can read.",
    "timeout": "The GPU did not answer in time while the driver started it: it is in a bad state, which a power cycle "
    "clears, the mainboard's firmware (BIOS) does not fit it, or the card is broken.",
    "state": "The GPU is in a state from which the driver cannot start it; taking the power off clears that.",
    "unsupported": "The driver cannot start this GPU in this way: another flavour or branch of the module is needed, "
    "its address windows are too small (Above 4G Decoding), or a virtual GPU wants the guest driver of its host's "
    "branch.",
}


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if in_container(on.facts):
        return (module.on_the_host("On the host: power-cycle the machine; the log of its kernel has the reason."),)
    cycle = Fix(
        "Shut down, take the power off for a minute, and start from cold.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
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
    targets=nvidia_addresses,
    caused_by=(
        "device.fallen-off-the-bus",
        "device.power-cable-missing",
        "device.gsp-firmware-missing",
        "device.no-interrupts",
        "device.gsp-failed",
        "device.bar-unassigned",
        "cloud.grid-driver-needed",
        *UNFIT,
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def init_failed(on: OnAddress) -> Problem | None:
    """RmInitAdapter failed on a card that NVML does not list."""
    said = on.events("rm-init-failed")
    if not said or on.answers:
        return None
    codes = tuple(dict.fromkeys(e.what["code"] for e in said if "code" in e.what))
    failures = [failure(code) for code in codes]
    words = next((f" It stopped{found.words}." for found in reversed(failures) if found.words), "")
    listed = f" ({', '.join(codes)})" if codes else ""
    message = f"{on.name} could not be initialised: RmInitAdapter failed{listed}.{words}"
    cause = next((_CAUSES[found.kind] for found in reversed(failures) if found.kind in _CAUSES), None)
    return Problem(message, texts(said), cause)
