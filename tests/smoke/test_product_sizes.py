"""How large the products are that a GPU, its memory, its speed and the host's memory allow."""

import pytest

from gpudoctor.workers.smoke.tests.matmul import largest
from tests.smoke.bench_kit import Device, bench

GIB, MIB = 1 << 30, 1 << 20


@pytest.mark.parametrize(
    ("dtype", "room", "host", "seconds", "size"),
    [
        ("bf16", 78 * GIB, 2 * GIB, None, 8192),
        ("fp32", 78 * GIB, 2 * GIB, None, 8192),
        ("fp32", 3 * GIB, 2 * GIB, None, 6144),
        ("bf16", 78 * GIB, GIB, None, 4096),  # a container of four GiB
        ("bf16", 512 * MIB, 2 * GIB, None, 4096),
        ("bf16", 78 * GIB, 2 * GIB, 40e-6, 8192),  # of the product of 2048
        ("fp32", 78 * GIB, 2 * GIB, 0.0022, 4096),
        ("fp32", 78 * GIB, 2 * GIB, 10.0, 512),
    ],
)
def test_as_large_as_fits_and_does_not_take_too_long(
    monkeypatch: pytest.MonkeyPatch, dtype: str, room: int, host: int, seconds: float | None, size: int
) -> None:
    on = bench(Device(room=room))
    monkeypatch.setattr(on, "host_budget", lambda: host)
    assert largest(on, dtype, seconds) == size


@pytest.mark.parametrize(
    ("room", "host", "message"),
    [
        (257 * MIB, 2 * GIB, "only 1 MiB may be used, too little for matmuls of size 512"),
        (GIB, 4 * MIB, "only 4 MiB of the host's memory may be used, too little for matmuls of size 512"),
    ],
)
def test_too_little_memory(monkeypatch: pytest.MonkeyPatch, room: int, host: int, message: str) -> None:
    on = bench(Device(room=room))
    monkeypatch.setattr(on, "host_budget", lambda: host)
    with pytest.raises(MemoryError) as caught:
        largest(on, "fp32")
    assert str(caught.value) == message
