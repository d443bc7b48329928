"""Kernel parameters, by each distribution's own tool."""

import pytest

from gpudoctor.fixes.boot import kernel_parameter
from tests.builders import change, nvidia_host


@pytest.mark.parametrize(
    ("identity", "like", "commands"),
    [
        ("pop", ("ubuntu", "debian"), ("sudo kernelstub --add-options ibt=off", "sudo reboot")),
        ("fedora", (), ("sudo grubby --update-kernel=ALL --args=ibt=off", "sudo reboot")),
        ("void", (), ("sudo reboot",)),
    ],
)
def test_kernel_parameter(identity: str, like: tuple[str, ...], commands: tuple[str, ...]) -> None:
    facts = change(change(nvidia_host(), "host.distribution.id", identity), "host.distribution.like", like)
    assert kernel_parameter(facts, "Disable it.", "ibt=off").commands == commands
