"""Keeping the driver from powering a GPU off while it is idle."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.module_option import set_option

# What /proc/driver/nvidia/params shows where somebody asked for it; 3 is the driver's own default, which leaves older
# and other cards alone.
_FINE_GRAINED = "2"


def stay_on(facts: Facts, message: str) -> Fix:
    """Set the option against runtime power management.

    Args:
        facts: the machine.
        message: when and why, without the full stop.
    """
    return set_option(facts, message, "NVreg_DynamicPowerManagement=0x00", "nvidia-stay-on")


def where_it_is_set(facts: Facts) -> tuple[Fix, ...]:
    """For a GPU that stops responding though an option powers it off while idle; none where the driver decides itself.

    pop-os/system76-driver#335, and CachyOS/CachyOS-Settings#270, whose package sets it on desktops, too.
    """
    if facts.nvidia.kernel.parameters.get("DynamicPowerManagement") != _FINE_GRAINED:
        return ()
    message = (
        "If it happens while the GPU is idle or wakes up: here NVreg_DynamicPowerManagement=0x02 powers it off, and "
        "some machines do not bring it back; switch that off"
    )
    return (stay_on(facts, message),)
