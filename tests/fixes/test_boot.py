"""Kernel parameters, by each distribution's own tool."""

import pytest

from gpudoctor.fixes.boot import into_kernel, kernel_parameter, without_parameters
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


@pytest.mark.parametrize(
    ("identity", "running", "other", "hint", "first"),
    [
        ("debian", "6.17.4-2-pve", "6.14.11-5-pve", "", "sudo proxmox-boot-tool kernel pin 6.14.11-5-pve"),
        ("pop", "6.17.9-76061709-generic", "6.16.3-76061603-generic", " Hold the space bar", "sudo reboot"),
        (
            "debian",
            "6.17.13+deb13-amd64",
            "6.12.57+deb13-amd64",
            " The command selects it for the next boot",
            "sudo grub-reboot 'Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.12.57+deb13-amd64'",
        ),
    ],
)
def test_another_kernel(identity: str, running: str, other: str, hint: str, first: str) -> None:
    facts = change(change(nvidia_host(), "host.distribution.id", identity), "host.kernel.release", running)
    facts = change(facts, "host.distribution.like", ("ubuntu", "debian") if identity == "pop" else ())
    fix = into_kernel(facts, other, "Boot it.", query("nvidia-smi"))
    assert fix.message.startswith(f"Boot it.{hint}")
    assert fix.commands[0] == first
