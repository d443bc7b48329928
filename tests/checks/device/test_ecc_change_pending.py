"""A change of the ECC mode waits for a reset."""

import pytest

from gpudoctor.checks.device.ecc_change_pending import ecc_change_pending
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host

NAME = "GPU 0 (NVIDIA GeForce RTX 4090)"
UNREADABLE = Unknown("NVML: Insufficient Permissions")


@pytest.mark.parametrize(
    ("now", "later", "verdict"),
    [
        (True, True, ("pass", "")),
        (None, None, ("pass", "")),
        (None, UNREADABLE, ("pass", "")),
        (False, True, ("problem", f"ECC of {NAME} is off and will be on after its next reset.")),
        (True, False, ("problem", f"ECC of {NAME} is on and will be off after its next reset.")),
        (True, UNREADABLE, ("unknown", "NVML: Insufficient Permissions")),
        (UNREADABLE, True, ("unknown", "NVML: Insufficient Permissions")),
    ],
)
def test_ecc_change_pending(now: object, later: object, verdict: tuple[str, str]) -> None:
    facts = change(change(nvidia_host(), "gpus.0.ecc", now), "gpus.0.ecc_pending", later)
    assert ask(ecc_change_pending, facts) == [verdict]
