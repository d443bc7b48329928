"""Whether the kernel cannot share processes' page tables with a GPU that is part of the chip (GB10)."""

import re

from gpudoctor.facts import PciDevice
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_OPTION = "CONFIG_ARM_SMMU_V3_SVA"
_RUNNING = "/proc/config.gz"
_MOST = 1 << 20


def probe(machine: Machine, cards: tuple[PciDevice, ...]) -> Maybe[bool | None]:
    """Whether the kernel's configuration lacks the option; None where no card needs it.

    CUDA does not start on GB10 without it (NixOS/nixpkgs#527847, siderolabs/talos#14087).
    """
    if not any(isinstance(card.name, str) and re.search(r"\bGB10\b", card.name) for card in cards):
        return None
    text = _configuration(machine)
    if isinstance(text, Unknown):
        return text
    if re.search(rf"^{_OPTION}=y$", text, re.MULTILINE):
        return False
    return True if "CONFIG_ARM_SMMU_V3=" in text else Unknown("the kernel's configuration does not name the SMMU")


def _configuration(machine: Machine) -> Maybe[str]:
    release = machine.release()
    for path in (f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        try:
            return machine.text(path, _MOST)
        except OSError:
            continue
    import zlib  # on kernels alone that show their configuration nowhere else

    try:
        return zlib.decompress(machine.data(_RUNNING, _MOST), 31).decode("utf-8", "replace")
    except (OSError, zlib.error) as error:
        return Unknown(f"/boot/config-{release} cannot be read, nor {_RUNNING}: {error}")
