"""amdgpu.gttsize, and TTM's limit that holds all the same."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.gtt_above_ttm_limit import gtt_above_ttm_limit
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.amd_machines import IGPU, RADEON, amd_host

GIB = 1 << 30
UNREADABLE = Unknown("not to be read")
MESSAGE = "amdgpu.gttsize asks for 96 GiB of GTT, but TTM's limit is 62 GiB: programs get no more."


def apu(**amd: Any) -> Facts:
    return change(amd_host((IGPU,), **amd), "host.memory", 124 * GIB)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (apu(), ("pass", "")),
        (apu(gtt_size=None, ttm_limit=UNREADABLE), ("pass", "")),
        (apu(gtt_size=96 * GIB, ttm_limit=96 * GIB), ("pass", "")),
        (apu(gtt_size=96 * GIB, ttm_limit=62 * GIB), ("problem", MESSAGE)),
        (apu(gtt_size=96 * GIB, ttm_limit=None), ("pass", "")),
        (apu(gtt_size=96 * GIB, ttm_limit=UNREADABLE), ("unknown", "not to be read")),
        (apu(gtt_size=UNREADABLE, ttm_limit=62 * GIB), ("unknown", "not to be read")),
        # a card computes in memory of its own
        (amd_host((RADEON,), gtt_size=96 * GIB, ttm_limit=62 * GIB), ("pass", "")),
        (amd_host((RADEON, IGPU), gtt_size=96 * GIB, ttm_limit=62 * GIB), ("pass", "")),
    ],
)
def test_gtt_above_ttm_limit(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(gtt_above_ttm_limit, facts) == [verdict]


@pytest.mark.parametrize(
    ("asked", "memory", "version", "parameter"),
    [
        (96, 124, None, f"ttm.pages_limit={96 * GIB // 4096}"),
        (128, 124, None, f"ttm.pages_limit={120 * GIB // 4096}"),  # the system keeps 4 GiB
        (96, 124, "6.16.6", f"amdttm.pages_limit={96 * GIB // 4096}"),  # AMD's driver package has its own TTM
        (96, UNREADABLE, None, f"ttm.pages_limit={96 * GIB // 4096}"),
    ],
)
def test_the_limit_that_fits(asked: int, memory: object, version: str | None, parameter: str) -> None:
    facts = apu(gtt_size=asked * GIB, ttm_limit=62 * GIB, version=version)
    if memory != 124:
        facts = change(facts, "host.memory", memory)
    (fix,) = run(gtt_above_ttm_limit, facts)[0].fixes
    assert parameter in fix.commands[0]
