"""Why a GPU under load draws no more: what its limit, its power reading and a laptop's Dynamic Boost show together."""

from typing import Literal

from gpudoctor.facts import Facts, Gpu, ServiceLine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.queries.gpus import mobile

# Above every limit of the board by this factor, at a fraction of its clock: no GPU draws that. Readings that were:
# 588 W of a limit of 35 W, at 210 of 3105 MHz (NVIDIA/open-gpu-kernel-modules#1237).
_IMPOSSIBLE, _FRACTION = 1.5, 1 / 3
# A GPU that a limit holds draws all of it: 49.7 of 50 W (omacom/omarchy#9678), 54.9 of 55 W.
_PINNED = 0.95
# The enforced limit is the board's own, neither lowered nor raised.
_AT_BASE = (0.95, 1.05)
# Dynamic Boost raised 115 to 140 W (yunusemreyl/omen-space#82), 50 to 100 W (omacom/omarchy#9678) and 95 to 175 W
# (canonical/nvidia-graphics-drivers#91).
_NEAR_MAXIMUM = 0.9
# Dynamic Boost is for Ampere and newer (negativo17/nvidia-driver#159, after the driver's README).
_AMPERE = 8.0
# Documentation/ABI/testing/sysfs-class-platform-profile: profiles that somebody chose for less heat and noise.
_QUIET = ("low-power", "cool", "quiet")
_OTHER_REASONS = {"hw-slowdown", "hw-thermal-slowdown", "sw-thermal-slowdown", "hw-power-brake"}
POWERD = "nvidia-powerd.service"


def impossible_power(gpu: Gpu) -> bool:
    """Whether the driver lowers the clocks for a power that the GPU cannot be drawing."""
    limits = [
        watts
        for one in (gpu.power_limit, gpu.power_default, gpu.power_max)
        if (watts := known_or(one, None)) is not None
    ]
    draw, clock, most = known_or(gpu.power, None), known_or(gpu.sm_clock, None), known_or(gpu.sm_clock_max, None)
    if not limits or not draw or not clock or not most or "sw-power-cap" not in _reasons(gpu):
        return False
    return draw > max(limits) * _IMPOSSIBLE and clock < most * _FRACTION


def missing_boost(facts: Facts, gpu: Gpu) -> Literal["off", "refused"] | None:
    """Why Dynamic Boost does not raise the power limit of a laptop's GPU that draws all of it.

    Off: nvidia-powerd does not run, and the limit is the base power. Refused: it runs, reports that the firmware
    refuses it, and the limit is below the base power. None: neither, or a laptop on battery or in a quiet profile,
    which has to be slow. What is unknown counts for nothing here; a journal that cannot be read is evidence.
    """
    draw, limit, base = (known_or(one, None) for one in (gpu.power, gpu.power_limit, gpu.power_default))
    capability = known_or(gpu.capability, None)
    if not draw or not limit or not base or not mobile(facts, gpu) or not capability or float(capability) < _AMPERE:
        return None
    chosen = known_or(facts.host.power_profile, None) in _QUIET or not _on_mains(facts)
    if chosen or _OTHER_REASONS & _reasons(gpu) or draw < limit * _PINNED:
        return None
    daemon, most = facts.nvidia.kernel.power_daemon, known_or(gpu.power_max, None)
    if limit < base * _AT_BASE[0]:
        runs = isinstance(daemon, Unknown) or daemon == "active"
        return "refused" if runs and known_or(boost_errors(facts), ()) else None
    room = most is None or limit < most * _NEAR_MAXIMUM
    return "off" if room and limit <= base * _AT_BASE[1] and daemon in (None, "inactive", "no-unit") else None


def _on_mains(facts: Facts) -> bool:
    """Whether a charger is online, or the kernel knows no battery and NVIDIA's driver takes this for a notebook.

    Guests and mini-PCs with a mobile GPU have no battery either, and no Dynamic Boost.
    """
    mains = facts.host.mains
    return mains is True or (mains is None and facts.nvidia.kernel.dynamic_boost is True)


def _reasons(gpu: Gpu) -> set[str]:
    found = gpu.event_reasons
    return set(found) if isinstance(found, tuple) else set()


def boost_errors(facts: Facts) -> Maybe[tuple[ServiceLine, ...]]:
    """What nvidia-powerd wrote into the journal since it was last started."""
    lines = facts.services.lines
    return lines if isinstance(lines, Unknown) else tuple(one for one in lines if one.service == POWERD)
