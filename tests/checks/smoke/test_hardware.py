"""What the driver said of a GPU while it was tested: clocks, links, errors, other users."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, run
from gpudoctor.facts import Facts
from tests.builders import ask
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

CHECKS: dict[str, Check[Any]] = {one.id: one for one in catalogue.load() if one.area == "smoke"}
H100, CPU, MI300X = m.machine(), m.on_cpu(), m.machine(m.MI300X)
GPU = "GPU 0 (NVIDIA H100 80GB HBM3)"
WELL, SKIPPED, NOT_KNOWN = [("pass", "")], [("skipped", "")], [("unknown", "no driver was asked")]
HOT = ("hw-slowdown", "hw-thermal-slowdown")


def problem(message: str) -> list[tuple[str, str]]:
    return [("problem", message)]


def during(facts: Facts = H100, **changes: object) -> Facts:
    """The machine with what the driver said in every test changed."""
    return m.watched(facts, lambda _: changes)


def counted(facts: Facts, name: str, **counts: object) -> Facts:
    """The machine with a counter that grew in one test, and in no other."""
    return m.watched(facts, lambda test: counts if name in (test.name, test.variant) else {})


def held(clock: object, *reasons: str, facts: Facts = H100, **changes: object) -> Facts:
    return during(facts, sm_clock=clock, reasons=reasons, **changes)


LINK = f"The PCIe link of {GPU} ran at generation"
BOTH = "under load; card and slot support generation 5 x16."
GREW = f"NVLink error counters of {GPU} grew during the tests"
LINKS_FAIL: dict[str, dict[str, object]] = {"transfer": {"nvlink_replays": 5000}, "stress": {"nvlink_recoveries": 3}}
ROWS: list[tuple[str, Facts, list[tuple[str, str]]]] = [
    ("smoke.link-trained-down", H100, WELL),
    ("smoke.link-trained-down", during(link_generation=4), problem(f"{LINK} 4 x16 {BOTH}")),
    ("smoke.link-trained-down", during(link_width=1), problem(f"{LINK} 5 x1 {BOTH}")),
    (
        "smoke.link-trained-down",
        counted(H100, "matmul", link_generation=1),
        WELL,
    ),  # only what copies trains the link up
    ("smoke.link-trained-down", during(link_generation=m.UNSEEN), NOT_KNOWN),
    ("smoke.link-trained-down", during(link_generation=None, link_width=None), WELL),
    ("smoke.link-trained-down", having(during(link_width=8), gpus__0__link_width_max=8), WELL),
    ("smoke.link-trained-down", having(during(link_width=4), pci__0__link_width_max=4), WELL),
    ("smoke.link-trained-down", having(during(link_width=1), host__platform="grace"), WELL),
    ("smoke.link-trained-down", CPU, SKIPPED),
    ("smoke.throttled", H100, WELL),
    ("smoke.throttled", MI300X, WELL),
    (
        "smoke.throttled",
        held(1300.0, *HOT),
        problem(
            f"{GPU} ran at 1300 of 1980 MHz in matmul fp32: hw-slowdown, hw-thermal-slowdown; maximum temperature 61 "
            "degrees C."
        ),
    ),
    ("smoke.throttled", held(1950.0, *HOT), WELL),
    (
        "smoke.throttled",
        held(1700.0, "hw-power-brake"),
        problem(f"{GPU} ran at 1700 of 1980 MHz in matmul fp32: hw-power-brake; maximum temperature 61 degrees C."),
    ),
    ("smoke.throttled", held(1700.0, "hw-slowdown"), WELL),
    (
        "smoke.throttled",
        held(1500.0, "sw-thermal-slowdown", temperature=m.UNSEEN),
        problem(f"{GPU} ran at 1500 of 1980 MHz in matmul fp32: sw-thermal-slowdown."),
    ),
    ("smoke.throttled", held(900.0, "sw-power-cap"), WELL),  # at its limit it does what it was built for
    (
        "smoke.throttled",
        held(900.0, "sw-power-cap", power=300.0),
        problem(
            f"{GPU} ran at 900 of 1980 MHz in matmul fp32: sw-power-cap, although it drew only 300 of 700 W; maximum "
            "temperature 61 degrees C."
        ),
    ),
    ("smoke.throttled", held(900.0), WELL),
    ("smoke.throttled", during(reasons=None), WELL),
    ("smoke.throttled", during(reasons=m.UNSEEN), NOT_KNOWN),
    ("smoke.throttled", held(m.UNSEEN, *HOT), NOT_KNOWN),
    ("smoke.throttled", m.only(H100, "transfer"), WELL),
    ("smoke.throttled", CPU, SKIPPED),
    ("smoke.uncorrected-ecc", H100, WELL),
    (
        "smoke.uncorrected-ecc",
        counted(H100, "bandwidth", ecc_uncorrected=1),
        problem(f"{GPU} had 1 uncorrectable memory error during the tests (bandwidth)."),
    ),
    ("smoke.uncorrected-ecc", during(ecc_uncorrected=None), WELL),
    ("smoke.uncorrected-ecc", during(ecc_uncorrected=m.UNSEEN), NOT_KNOWN),
    (
        "smoke.uncorrected-ecc",
        counted(counted(H100, "mnist", ecc_uncorrected=m.UNSEEN), "bandwidth", ecc_uncorrected=2),
        problem(f"{GPU} had 2 uncorrectable memory errors during the tests (bandwidth)."),
    ),
    ("smoke.uncorrected-ecc", m.ill(during(ecc_uncorrected=m.UNSEEN), "mnist", outcome="unsupported"), NOT_KNOWN),
    ("smoke.corrected-ecc", H100, WELL),
    (
        "smoke.corrected-ecc",
        counted(H100, "stress", ecc_corrected=7),
        problem(f"ECC corrected 7 memory errors of {GPU} during the tests (stress)."),
    ),
    ("smoke.corrected-ecc", during(ecc_corrected=m.UNSEEN), NOT_KNOWN),
    ("smoke.corrected-ecc", CPU, SKIPPED),
    ("smoke.pcie-replays", H100, WELL),
    ("smoke.pcie-replays", counted(H100, "transfer", pcie_replays=7), WELL),
    (
        "smoke.pcie-replays",
        counted(H100, "transfer", pcie_replays=8),
        problem(f"8 packets were retransmitted (PCIe replays) on the link of {GPU} in 1.2 s (transfer)."),
    ),
    ("smoke.pcie-replays", m.ill(counted(H100, "stress", pcie_replays=60), "stress", seconds=60.0), WELL),
    ("smoke.pcie-replays", during(pcie_replays=m.UNSEEN), NOT_KNOWN),
    ("smoke.nvlink-errors", H100, WELL),
    (
        "smoke.nvlink-errors",
        counted(H100, "stress", nvlink_recoveries=1),
        problem(f"{GREW} (stress): recoveries +1."),
    ),
    ("smoke.nvlink-errors", counted(H100, "transfer", nvlink_crc=119), WELL),
    ("smoke.nvlink-errors", counted(H100, "transfer", nvlink_crc=120), problem(f"{GREW} (transfer): CRC errors +120.")),
    (
        "smoke.nvlink-errors",
        m.watched(H100, lambda test: LINKS_FAIL.get(test.name, {})),
        problem(f"{GREW} (transfer, stress): replays +5,000, recoveries +3."),
    ),
    ("smoke.nvlink-errors", during(nvlink_replays=None, nvlink_recoveries=None, nvlink_crc=None), WELL),
    ("smoke.nvlink-errors", during(nvlink_recoveries=m.UNSEEN), NOT_KNOWN),
    ("smoke.nvlink-errors", CPU, SKIPPED),
    ("smoke.busy", H100, WELL),
    (
        "smoke.busy",
        m.of_run(H100, others=2, utilization=98),
        problem(f"{GPU} was in use before the tests: 2 other processes ran on it and it was 98% busy."),
    ),
    (
        "smoke.busy",
        m.of_run(H100, others=1),
        problem(f"{GPU} was in use before the tests: 1 other process ran on it."),
    ),
    (
        "smoke.busy",
        m.of_run(H100, others=m.UNSEEN, utilization=60),
        problem(f"{GPU} was in use before the tests: it was 60% busy."),
    ),
    ("smoke.busy", m.of_run(H100, others=m.UNSEEN, utilization=m.UNSEEN), NOT_KNOWN),
    ("smoke.busy", CPU, SKIPPED),
]


@pytest.mark.parametrize(("name", "facts", "verdicts"), ROWS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(ROWS)])
def test_hardware(name: str, facts: Facts, verdicts: list[tuple[str, str]]) -> None:
    assert ask(CHECKS[name], facts) == verdicts


@pytest.mark.parametrize(
    ("name", "facts", "severity"),
    [
        ("smoke.link-trained-down", during(link_generation=4), "advice"),
        ("smoke.link-trained-down", during(link_width=8), "advice"),
        ("smoke.link-trained-down", during(link_width=4), "warn"),
        ("smoke.link-trained-down", having(during(link_width=4), host__virtual="kvm"), "advice"),
        ("smoke.throttled", held(1300.0, *HOT), "fail"),
        ("smoke.throttled", held(1700.0, *HOT), "warn"),
        ("smoke.throttled", held(1500.0, "sw-thermal-slowdown"), "warn"),
        ("smoke.throttled", having(held(1500.0, "sw-thermal-slowdown"), host__platform="laptop"), "advice"),
        ("smoke.throttled", having(held(900.0, *HOT), host__platform="laptop"), "fail"),
    ],
)
def test_how_bad_it_is(name: str, facts: Facts, severity: str) -> None:
    (verdict,) = run(CHECKS[name], facts)
    assert verdict.severity.value == severity


def test_hardware_is_told_once_for_all_backends() -> None:
    facts = m.machine(m.H100, 1, ("pytorch", "jax"))
    facts = m.watched(facts, lambda test: {"ecc_corrected": 1} if test.name == "bandwidth" else {}, 0)
    facts = m.watched(facts, lambda test: {"ecc_corrected": 2} if test.name == "bandwidth" else {}, 1)
    assert ask(CHECKS["smoke.corrected-ecc"], facts) == [
        ("problem", f"ECC corrected 3 memory errors of {GPU} during the tests (bandwidth).")
    ]


def test_a_gpu_of_amd_is_looked_at_with_its_own_tools() -> None:
    facts = m.of_run(counted(MI300X, "bandwidth", ecc_uncorrected=1), others=1)
    for name in ("smoke.uncorrected-ecc", "smoke.busy"):
        (verdict,) = run(CHECKS[name], facts)
        commands = " ".join(command for fix in verdict.fixes for command in fix.commands)
        assert "amd-smi" in commands
        assert "nvidia" not in commands
