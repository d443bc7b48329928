"""NVIDIA's device ids that the table does not know, from the public list (https://pci-ids.ucw.cz/)."""

import re
from collections.abc import Iterator

from gpudoctor.knowledge.pci_ids import nvidia_chip
from gpudoctor.targets import NVIDIA
from scripts.refreshing.difference import Difference, Fetch

ADDRESS = "https://pci-ids.ucw.cz/v2.2/pci.ids"
HAND = "add the id to the chip's ranges, and a new chip to generations.toml"
# A GPU of a generation that CUDA knows: "2b85  GB202 [GeForce RTX 5090]"; no bridge, sound or USB function.
_GPU = re.compile(r"^\t([0-9a-f]{4})  ((?:G[A-Z]|AD|TU)\d{2,3}[A-Z]*)\b(?!.*(?:Audio|USB|UCSI|Bridge|Switch))(.*)$")


def differences(fetch: Fetch) -> Iterator[Difference]:
    """Ids of GPUs that the table gives no chip for, or another one.

    Raises:
        OSError: the list does not answer.
    """
    ours = False
    for line in fetch(ADDRESS).decode("utf-8", "replace").splitlines():
        if line[:1] not in ("\t", "#", ""):
            ours = line.startswith(NVIDIA)
        found = _GPU.match(line) if ours else None
        if found is None:
            continue
        chip, name = nvidia_chip(found[1]), found[2]
        code = (re.match(r"[A-Z]+\d+", name) or [name])[0]
        if chip is None or chip.code != code:
            yield Difference("pci_ids", ("nvidia", found[1]), chip and chip.code, f"{name}{found[3]}", ADDRESS, HAND)
