"""Recorded machines that ship with gpudoctor: each is a facts file, judged like any other when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.facts import Facts

DEMOS = {
    "mismatch": "Driver/library version mismatch: the driver was upgraded, and the GPU does not work until a reboot",
    "cpu-wheel": "A healthy RTX GPU, but PyTorch is a CPU-only build",
    "bad-link": "Eight H100: one of them has 4 PCIe lanes instead of 16",
}


def load(name: str) -> Facts:
    """The facts of a demo.

    Raises:
        KeyError: there is no demo of that name.
    """
    from gpudoctor.facts.facts_file import read

    if name not in DEMOS:
        raise KeyError(name)
    return read(f"{__file__.rpartition('/')[0]}/{name}.json")
