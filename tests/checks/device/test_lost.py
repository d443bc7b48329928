"""A GPU that NVML reports as lost: what is said of it rests on what was read."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.device.fallen_off_the_bus import fallen_off_the_bus
from gpudoctor.facts import Facts
from tests.checks.nvidia_machines import event, having, logged, xid

LOST = having(gpus__0__status="lost")
NVML = "NVML: NVML_ERROR_GPU_IS_LOST (15)"


@pytest.mark.parametrize(
    ("facts", "end", "lines"),
    [
        (LOST, "it has fallen off the bus, or cannot be reached any more.", 0),
        (logged(event("fallen-off-bus", gpu="0000:01:00.0"), facts=LOST), "it has fallen off the bus.", 1),
        (logged(xid(79), facts=LOST), "it has fallen off the bus (Xid 79).", 1),
    ],
)
def test_an_xid_is_named_where_it_was_read(facts: Facts, end: str, lines: int) -> None:
    [verdict] = run(fallen_off_the_bus, facts)
    assert verdict.problem is not None
    assert verdict.message.endswith(f" is lost: {end}")
    first, *others = verdict.problem.evidence
    assert first == NVML
    assert len(others) == lines
    assert "Xid" not in fallen_off_the_bus.title + fallen_off_the_bus.cause
