"""Shared memory that killed programs have filled."""

import pytest

from gpudoctor.checks.host.shm_full import shm_full
from gpudoctor.facts import Facts
from gpudoctor.facts.host import Shm
from gpudoctor.maybe import Maybe, Unknown
from tests.builders import ask, change, nvidia_host

WHY = Unknown("statvfs failed")


def _having(size: Maybe[int | None], free: Maybe[int | None], gpus: int = 2) -> Facts:
    return change(nvidia_host(gpus), "host.shm", Shm(size=size, free=free, mode="1777", writable=True))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (_having(64 << 30, 12 << 20), ("problem", "/dev/shm (shared memory) is full: 12 MiB of 64 GiB are free.")),
        (
            _having(64 << 30, (64 << 20) - 1),
            ("problem", "/dev/shm (shared memory) is full: 63 MiB of 64 GiB are free."),
        ),
        (_having(64 << 30, 64 << 20), ("pass", "")),
        (_having(64 << 20, 0), ("pass", "")),  # container.shm-small and host.shm-small are about that
        (_having(None, None), ("pass", "")),
        (_having(64 << 30, 0, gpus=1), ("pass", "")),
        (_having(64 << 30, WHY), ("unknown", WHY.unknown)),
        (_having(WHY, 0), ("unknown", WHY.unknown)),
    ],
)
def test_shm_full(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(shm_full, facts) == [verdict]
