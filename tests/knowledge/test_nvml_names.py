"""Names of what NVML answers with numbers."""

import pytest

from gpudoctor.knowledge.nvml import event_reasons, fabric_health


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (0, ()),
        (0b10_10_10_10 | 1 << 8, ()),  # every field says that all is well
        (0b01, ("degraded-bandwidth",)),
        (0b01_10_10_10 | 5 << 8, ("access-timeout-recovery", "insufficient-nvlinks")),
        (
            0b10_01_01_10 | 4 << 8 | 2 << 14,
            ("route-recovery", "route-unhealthy", "no-partition", "manager-disconnected"),
        ),
        (8 << 8 | 1 << 12, ("gpu-state-invalid",)),
    ],
)
def test_fabric_health(mask: int, names: tuple[str, ...]) -> None:
    assert fabric_health(mask) == names


def test_event_reasons() -> None:
    assert event_reasons(0b101) == ("gpu-idle", "sw-power-cap")
