"""What the numbers of a failed start of the driver stand for."""

import pytest

from gpudoctor.knowledge.rm_init import failure


@pytest.mark.parametrize(
    ("code", "words", "kind"),
    [
        ("0x24:0x1c:1603", " while initializing the GPU: too little power", "power"),
        ("0x22:0x56:894", " while attaching the GPU: not supported", "unsupported"),
        ("0x62:0x65:1792", " while starting the firmware (GSP): timeout", "timeout"),
        ("0x11:0x45:2525", " while testing the system: no interrupt arrives", "interrupts"),
        ("0x24:0x72:1568", " while initializing the GPU: memory error", "memory"),
        ("0x26:0xffff:1375", " while setting up DMA: no reason given", ""),
        ("0x99:0x65:1", ": timeout", "timeout"),
        ("0x24:0x99:1", " while initializing the GPU", ""),
        ("0x99:0x99:1", "", ""),
        ("", "", ""),
    ],
)
def test_failure(code: str, words: str, kind: str) -> None:
    found = failure(code)
    assert (found.words, found.kind) == (words, kind)
