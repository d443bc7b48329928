"""Kernel parameters, by each distribution's own tool."""

import pytest

from gpudoctor.fixes.boot import kernel_parameter, without_parameters
from gpudoctor.tasks import query
from tests.builders import change, nvidia_host


@pytest.mark.parametrize(
    ("identity", "like", "commands"),
    [
        ("pop", ("ubuntu", "debian"), ("sudo kernelstub --add-options ibt=off", "sudo reboot")),
        ("fedora", (), ("sudo grubby --update-kernel=ALL --args=ibt=off", "sudo reboot")),
        (
            "nixos",
            (),
            (
                '# /etc/nixos/configuration.nix\nboot.kernelParams = [ "ibt=off" ];',
                "sudo nixos-rebuild boot",
                "sudo reboot",
            ),
        ),
        ("void", (), ()),  # a reboot alone would change nothing
    ],
)
def test_kernel_parameter(identity: str, like: tuple[str, ...], commands: tuple[str, ...]) -> None:
    facts = change(change(nvidia_host(), "host.distribution.id", identity), "host.distribution.like", like)
    assert kernel_parameter(facts, "Disable it.", "ibt=off").commands == commands


@pytest.mark.parametrize("identity", ["nixos", "void"])
def test_without_an_edit_there_is_no_reboot(identity: str) -> None:
    facts = change(change(nvidia_host(), "host.distribution.id", identity), "host.distribution.like", ())
    assert without_parameters(facts, "Enable it.", ("ibt=off",), query("nvidia-smi")).commands == ()
