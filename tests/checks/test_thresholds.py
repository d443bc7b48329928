"""Limits from both sides: one value just within, and one just beyond, so that a limit that moves is noticed."""

from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, run
from gpudoctor.facts import Facts, GpuProcess, LogEvent, Shm, WritableDirectory
from tests.builders import gpu, nvidia_host
from tests.checks import smoke_machines as smoke
from tests.checks.nvidia_gpus import LOAD
from tests.checks.nvidia_machines import WHY, event, having, nodes, xid

CHECKS = {one.id: one for one in catalogue.load(catalogue.ids())}
GIB, MIB = 1 << 30, 1 << 20
H100, T4 = smoke.machine(), smoke.machine(smoke.T4)


def finds(id_: str, facts: Facts) -> bool:
    """Whether a check finds a problem."""
    return any(verdict.outcome is Outcome.PROBLEM for verdict in run(CHECKS[id_], facts))


def on_gpu(*fields: str, **beside: Any) -> Callable[[Any], Facts]:
    """A GPU at work whose fields have the value."""
    return lambda value: having(nvidia_host(), gpus=(gpu(**(LOAD | beside | dict.fromkeys(fields, value))),))


def figure(test: str, name: str, facts: Facts = H100) -> Callable[[Any], Facts]:
    """A smoke test that measured the value."""
    return lambda value: smoke.ill(facts, test, figures={name: value})


def copies(there: float) -> Facts:
    """Copies of so many GB/s to the GPU, and of 50 back."""
    return smoke.ill(H100, "transfer", figures={"h2d pinned": there, "d2h pinned": 50.0})


def hot(clock: int) -> Facts:
    """A GPU of 1,000 MHz that heat kept at so many during the tests."""
    facts = having(H100, gpus__0__sm_clock_max=1000)
    return smoke.watched(facts, lambda _: {"reasons": ("hw-thermal-slowdown",), "sm_clock": clock})


def replays(seconds: float) -> Callable[[Any], Facts]:
    """So many packets sent again while the tests ran."""

    def made(number: int) -> Facts:
        facts = smoke.only(H100, "stress")
        return smoke.ill(facts, "stress", seconds=seconds, during={"pcie_replays": number})

    return made


def folder(free: int) -> Facts:
    """A GPU, and so much room for temporary files."""
    return having(
        nvidia_host(),
        host__directories=(WritableDirectory(path="/tmp", purpose="temporary files", free=free, writable=True),),
    )


def shm(size: int) -> Facts:
    """Two GPUs that talk through so much shared memory."""
    return having(nvidia_host(2), host__shm=Shm(size=size, free=size, mode="1777", writable=True))


def memlock(limit: int) -> Facts:
    """Two GPUs, an adapter with RDMA, and so much memory that may be locked."""
    return having(nvidia_host(2), host__rdma=True, host__memlock=limit, host__may_lock=False)


def held(used: int) -> Facts:
    """A GPU of 100 GiB of which others hold so many."""
    process = GpuProcess(pid=7, memory=used * GIB, name="python", user=1, state="S")
    changed = gpu(memory=100 * GIB, memory_used=used * GIB, processes=(process,))
    return having(nvidia_host(), gpus=(changed,))


def fault(seconds_ago: float) -> Facts:
    """A program's fault, so long ago."""
    one = LogEvent(kind="xid", text="Xid 31", seconds=1e6 - seconds_ago, gpu="0000:01:00.0", code=31, what={"pid": "7"})
    return having(nvidia_host(), log__events=(one,), log__now=1e6)


def faults(number: int, programs: int, card: int, cards: int) -> Facts:
    """So many faults of so many programs on one of several cards."""
    address = f"0000:{card + 1:02x}:00.0"
    gpus = tuple(gpu(index, recovery_action=WHY) for index in range(cards))  # nobody says that they have recovered
    said = tuple(xid(31, 1 + n % programs, address) for n in range(number))
    return having(nvidia_host(cards), gpus=gpus, log__events=said)


def errors(number: int) -> Facts:
    """A link whose packets were sent again, within the first minutes."""
    return having(nvidia_host(), gpus__0__pcie_replays=number, host__uptime=60.0)


# The check, what makes a machine of a value, a value that is well, and the nearest that is not.
LIMITS: list[tuple[str, Callable[[Any], Facts], Any, Any]] = [
    ("smoke.wrong-inference", figure("inference fp32", "error"), 0.99e-4, 1.01e-4),
    ("smoke.wrong-inference", figure("inference bf16", "error"), 2.99e-2, 3.01e-2),
    ("smoke.wrong-inference", figure("inference fp16", "error", T4), 0.99e-2, 1.01e-2),
    ("smoke.wrong-mixed-precision", figure("mixed-precision", "loss error"), 1.99e-3, 2.01e-3),
    ("smoke.wrong-mixed-precision", figure("mixed-precision", "gradient error"), 0.149, 0.151),
    ("smoke.wrong-mixed-precision", figure("mixed-precision", "gradient error", T4), 0.0299, 0.0301),
    ("smoke.fused-wrong", figure("fused", "error"), 0.99e-5, 1.01e-5),
    ("smoke.fused-not-faster", figure("fused", "speed-up"), 1.21, 1.19),
    ("smoke.autocast-idle", figure("mixed-precision", "difference"), 1.01e-5, 0.99e-5),
    ("smoke.no-overlap", figure("overlap", "overlap"), 0.80, 0.79),
    ("smoke.slow-first-call", figure("matmul bf16", "first call"), 9.9, 10.1),
    ("smoke.uneven-link", copies, 42.6, 42.4),
    ("smoke.pcie-replays", replays(60.0), 80, 81),
    ("smoke.pcie-replays", replays(1.0), 7, 8),
    ("health.clocks-held", on_gpu("application_clock", application_clock_default=1000), 950, 949),
    ("health.clocks-held", on_gpu("sm_clock", sm_clock_max=1000), 600, 599),
    ("health.clocks-held", on_gpu("utilization", sm_clock=100, sm_clock_max=1000), 89, 90),
    ("health.fans-stopped", on_gpu("temperature", fans=(0, 0)), 77, 78),
    ("health.power-limit-lowered", on_gpu("power_limit", power_default=100.0), 65.0, 64.9),
    (
        "health.hardware-slowdown",
        on_gpu("sm_clock", sm_clock_max=1000, event_reasons=("hw-slowdown",)),
        550,
        549,
    ),
    ("health.hardware-slowdown", on_gpu("utilization", sm_clock=100, event_reasons=("hw-slowdown",)), 49, 50),
    ("health.hardware-slowdown", on_gpu("temperature", sm_clock=100, event_reasons=("hw-slowdown",)), 90, 89),
    (
        "health.power-capped",
        on_gpu("sm_clock", sm_clock_max=1000, power=100.0, event_reasons=("sw-power-cap",)),
        700,
        699,
    ),
    (
        "health.power-capped",
        on_gpu("power", sm_clock=100, power_limit=100.0, power_default=100.0, event_reasons=("sw-power-cap",)),
        80.0,
        79.9,
    ),
    (
        "health.power-capped",
        on_gpu("power_limit", sm_clock=100, power=100.0, power_default=100.0, event_reasons=("sw-power-cap",)),
        90.0,
        89.9,
    ),
    ("health.memory-held", held, 89, 91),
    ("host.disk-full", folder, GIB, GIB - 1),
    ("host.shm-small", shm, 256 * MIB, 256 * MIB - 1),
    ("host.memlock-small", memlock, 64 * MIB, 64 * MIB - 1),
    ("link.pcie-errors", errors, 999, 1000),
    ("device.program-faults", fault, 3 * 3600.0 + 1, 3 * 3600.0),
    ("device.faults-on-one-card", lambda n: faults(n, 3, 1, 4), 3, 4),
    ("device.faults-on-one-card", lambda n: faults(8, n, 1, 4), 2, 3),
    ("device.faults-on-one-card", lambda n: faults(n, 8, 0, 4), 11, 12),
    ("device.faults-on-one-card", lambda n: faults(16, n, 0, 4), 7, 8),
    ("device.faults-on-one-card", lambda n: faults(4, 3, 1, n), 3, 4),
]


# The check, what makes a machine of a value, a value, how bad it is, and the nearest that is worse, or less bad.
GRADES: list[tuple[str, Callable[[Any], Facts], Any, str, Any, str]] = [
    ("smoke.uneven-link", copies, 25.1, "advice", 24.9, "warn"),
    ("smoke.throttled", hot, 700, "warn", 699, "fail"),
    ("host.memlock-small", lambda n: having(memlock(0), gpus=tuple(map(gpu, range(n)))), 3, "advice", 4, "warn"),
]


@pytest.mark.parametrize(("id_", "made", "mild", "less", "bad", "more"), GRADES)
def test_how_bad_it_is_depends_on_where_it_lies(
    id_: str, made: Callable[[Any], Facts], mild: Any, less: str, bad: Any, more: str
) -> None:
    assert [v.severity.value for v in run(CHECKS[id_], made(mild)) if v.outcome is Outcome.PROBLEM] == [less]
    assert [v.severity.value for v in run(CHECKS[id_], made(bad)) if v.outcome is Outcome.PROBLEM] == [more]


# Which check speaks of an answer of cuInit, where nvidia-uvm is not loaded and could not set up HMM before.
ANSWERS: dict[str, set[int]] = {
    "driver.compat-unsupported": {804},
    "driver.hmm-without-room": {3, 802, 999},
    "driver.library-mismatch": {803},
    "driver.mps-unreachable": set(range(805, 811)),
    "driver.stub-library": {34},
}
OTHER_REASONS = {0, 34, 46, 802, 803, 804}  # which nvidia-uvm does not explain


@pytest.mark.parametrize("code", [*range(4), 33, 34, 35, 45, 46, 47, 100, 101, 304, *range(801, 813), 998, 999])
def test_each_answer_of_cuinit_is_reported_by_its_check(code: int) -> None:
    facts = having(
        nvidia_host(),
        nvidia__cuda__code=code,
        nvidia__cuda__devices=(),
        nvidia__kernel__nodes=nodes("nvidia0", "nvidiactl"),
        nvidia__kernel__modules=("nvidia",),
        nvidia__kernel__uvm_major=None,
        log__events=(event("uvm-hmm"),),
    )
    expected = {id_ for id_, codes in ANSWERS.items() if code in codes}
    expected |= {"driver.cuda-error"} if code else set()
    expected |= set() if code in OTHER_REASONS else {"driver.uvm-missing"}
    assert {id_ for id_ in CHECKS if id_.startswith("driver.") and finds(id_, facts)} == expected


# Which check speaks of an Xid; of one that is named nowhere here none does.
XIDS: dict[str, set[int]] = {
    "device.ecc-corrected-often": {92},
    "device.ecc-uncorrected": {48, 94, 95, 140, 171, 172},
    "device.fallen-off-the-bus": {79},
    "device.faults-on-one-card": {13, 31, 32, 39, 40, 41, 43, 69, 70},
    "device.gsp-failed": {119, 120},
    "device.nvlink-fault": {74, 136, *range(144, 151)},
    "device.program-faults": {13, 31, 69, 137},
    "device.row-remap-failed": {64},
    "device.row-remap-pending": {63},
    "device.vgpu-host-mismatch": {78},
    "device.xid-driver": {8, 32, 56, 60, 61, 80, 109, 151, 159},
    "device.xid-hardware": {46, 57, 58, 62, 110, 143, 156, 157, 158, 167, 168},
}


@pytest.mark.parametrize("code", range(1, 181))
def test_each_xid_is_reported_by_its_check(code: int) -> None:
    """It came often, from many programs, on the second of four cards, and nobody says that it has recovered."""
    gpus = tuple(gpu(index, recovery_action=WHY) for index in range(4))
    said = tuple(
        LogEvent(kind="xid", text=f"Xid {code}", seconds=1e6, gpu="0000:02:00.0", code=code, what={"pid": str(pid)})
        for pid in range(12)
    )
    facts = having(nvidia_host(4), gpus=gpus, log__events=said, log__now=1e6)
    found = {id_ for id_ in CHECKS if id_.startswith("device.") and finds(id_, facts)}
    assert found == {id_ for id_, codes in XIDS.items() if code in codes}


@pytest.mark.parametrize(("id_", "made", "well", "ill"), LIMITS)
def test_each_limit_lies_where_it_is_written(id_: str, made: Callable[[Any], Facts], well: Any, ill: Any) -> None:
    assert not finds(id_, made(well))
    assert finds(id_, made(ill))


def test_a_limit_of_wear_is_one_of_the_healthy_machines() -> None:
    assert not any(finds(id_, facts) for id_, *_ in LIMITS for facts in (nvidia_host(2), H100, T4))
