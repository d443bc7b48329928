"""The driver found the card and could not initialize it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import NVIDIA_SMI, module
from gpudoctor.fixes.card_firmware import look_at_card, power_cycle, video_bios
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.cause_groups import UNFIT
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container

# By the status in RmInitAdapter's numbers (knowledge/rm_init.toml).
_CAUSES = {
    "memory": "The driver could not initialize the card's memory: usually a broken card, sometimes one that is "
    "overclocked or too hot.",
    "lost": "The card stopped responding on PCI Express while the driver started it: power, seating or riser, a slot "
    "in a deep sleep state, or a broken card.",
    "vbios": "The driver rejects the card's VBIOS: it is flashed or damaged, or in a virtual machine it cannot be "
    "read.",
    "timeout": "The GPU did not respond in time while the driver started it: it is in a bad state, which a power "
    "cycle clears, the motherboard's firmware (BIOS) does not support it, or the card is broken.",
    "state": "The GPU is in a state from which the driver cannot start it; a power cycle clears that.",
    "unsupported": "The driver cannot start this GPU in this configuration: it needs another flavor or branch of the "
    "module, its address windows are too small (Above 4G Decoding), or a virtual GPU needs a guest driver of its "
    "host's branch.",
}


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if in_container(on.facts):
        return (module.on_the_host("On the host: power-cycle the machine; its kernel log has the reason."),)
    board = (
        "If it still fails: enable Above 4G Decoding in the firmware setup (BIOS), check the card's power cable and "
        "seating, and try it in another slot or machine; a card that fails there too has to be replaced."
    )
    cycle = power_cycle(on.facts, "Shut down, disconnect the power for a minute, and cold-boot.")
    unread = any(e.what.get("code", "").startswith("0x30:") for e in on.events("rm-init-failed"))
    # A laptop's GPU has its VBIOS in the host's firmware, which a guest does not see: Bumblebee-Project/Bumblebee#628.
    image = video_bios(on.facts, NVIDIA_SMI) if unread and hypervisor(on.facts) else ()
    return (*image, cycle, look_at_card(on.facts, board))


@check(
    title="RmInitAdapter failed: the driver cannot initialize a GPU",
    severity=Severity.ERROR,
    cause="The module found the card, but its initialization (RmInitAdapter) failed: a GPU in a bad state, missing "
    "power, address windows that do not fit, or a broken card. nvidia-smi then reports No devices were found.",
    fixes=_fixes,
    references=("https://github.com/NVIDIA/open-gpu-kernel-modules",),
    targets=nvidia_addresses,
    only_with=("log.events.kind=rm-init-failed",),
    caused_by=(
        "device.vgpu-host-mismatch",
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
    logged = on.events("rm-init-failed")
    if not logged or on.answers:
        return None
    codes = tuple(dict.fromkeys(e.what["code"] for e in logged if "code" in e.what))
    failures = [failure(code) for code in codes]
    words = next((f" It stopped{found.words}." for found in reversed(failures) if found.words), "")
    listed = f" ({', '.join(codes)})" if codes else ""
    message = f"{on.name} could not be initialized: RmInitAdapter failed{listed}.{words}"
    cause = next((_CAUSES[found.kind] for found in reversed(failures) if found.kind in _CAUSES), None)
    return Problem(message, texts(logged), cause)
