"""The tool that switched a laptop's GPU off, and its files."""

from gpudoctor import catalogue
from tests.checks.device.test_device import ENVY
from tests.checks.nvidia_machines import having


def test_the_tool_that_switched_the_gpu_off_gives_it_back() -> None:
    one = catalogue.load(["device.switched-off"])[0]
    by_tool, by_hand = one.fixes_for(ENVY)
    assert by_tool.commands == ("sudo envycontrol -s hybrid", "sudo reboot")
    rule = "/etc/udev/rules.d/50-remove-nvidia.rules"
    # The initial RAM disk has a copy of the rule.
    assert by_hand.commands == (f"sudo mv {rule} {rule}.off", "sudo update-initramfs -u", "sudo reboot")
    assert [f.commands[0] for f in one.fixes_for(having(ENVY, nvidia__kernel__switch="udev"))] == [by_hand.commands[0]]


def test_a_tool_that_is_gone_is_not_typed() -> None:
    (check,) = catalogue.load(["device.switched-off"])
    assert check.fixes_for(ENVY)[0].commands[0] == "sudo envycontrol -s hybrid"
    (fix,) = check.fixes_for(having(ENVY, nvidia__kernel__switch_lost=True))
    assert fix.commands[0].startswith("sudo mv /etc/udev/rules.d/50-remove-nvidia.rules ")
    assert fix.message.endswith("envycontrol, which left them, is not installed.")
