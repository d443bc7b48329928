"""AMD's GPUs in CPUs: the area for saved waves of gfx1151, and the memory that the firmware reserves."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.rocm.page_faults import page_faults
from gpudoctor.checks.rocm.reserved_memory_unused import reserved_memory_unused
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.amd_machines import RADEON, amd_host, instinct_node
from tests.checks.rocm.test_cards import logged, reported

GIB = 1 << 30
HALO = msgspec.structs.replace(RADEON, name="Radeon 8060S", gfx="gfx1151", integrated=True)
UNREADABLE = Unknown("not to be read")
FAULT = "A program hit a page fault on GPU 0 (Radeon 8060S)."
SMALL = f"{FAULT} The area for saved waves is too small for gfx1151 in"


def faulted(client: str, wave_area: int | None, rocm: str | None, gfx: str = "gfx1151") -> Facts:
    """A machine whose GPU had one page fault, of this client."""
    halo = msgspec.structs.replace(HALO, gfx=gfx, wave_area=wave_area)
    events: tuple[LogEvent, ...] = (reported("amdgpu-fault", "page fault"), reported("amdgpu-fault-client", client))
    return logged(*events, facts=amd_host((halo,), rocm=rocm))


@pytest.mark.parametrize(
    ("facts", "message", "severity"),
    [
        (faulted("CPF", None, "7.1.1"), f"{SMALL} kernel 6.8.0-60-generic and in ROCm 7.1.1.", Severity.WARNING),
        (faulted("CPC", None, "7.2.0"), f"{SMALL} kernel 6.8.0-60-generic.", Severity.WARNING),
        (faulted("CPF", None, None), f"{SMALL} kernel 6.8.0-60-generic.", Severity.WARNING),
        (faulted("CPF", 29 << 20, "6.4.1"), f"{SMALL} ROCm 6.4.1.", Severity.WARNING),
        (faulted("CPF", 29 << 20, "7.2.1"), FAULT, Severity.ADVICE),
        (faulted("TCP", None, "7.1.1"), FAULT, Severity.ADVICE),  # a kernel of the program
        (faulted("CPF", None, "7.1.1", "gfx1150"), FAULT, Severity.ADVICE),
        (change(faulted("CPF", None, "7.2.0"), "gpus.0.wave_area", UNREADABLE), FAULT, Severity.ADVICE),
    ],
)
def test_page_faults_of_the_command_processor(facts: Facts, message: str, severity: Severity) -> None:
    assert ask(page_faults, facts) == [("problem", message)]
    (verdict,) = run(page_faults, facts)
    assert verdict.severity == severity


@pytest.mark.parametrize(
    ("wave_area", "rocm", "parts"),
    [
        (None, "7.1.1", ("6.18.4", "ROCm 7.2")),
        (None, "7.2.0", ("6.18.4",)),
        (29 << 20, "7.1.1", ("ROCm 7.2",)),
    ],
)
def test_what_makes_the_area_large_enough(wave_area: int | None, rocm: str, parts: tuple[str, ...]) -> None:
    facts = change(faulted("CPF", wave_area, rocm), "host.distribution.version", "24.04")
    ((fix,),) = (verdict.fixes for verdict in run(page_faults, facts))
    assert [part for part in ("6.18.4", "ROCm 7.2") if part in fix.message] == list(parts)
    assert any("linux-oem-24.04c" in command for command in fix.commands) is (wave_area is None)


def reserved(gib: float, given: float, **gpu: Any) -> Facts:
    """A machine with 32 GiB of RAM left, whose firmware reserves so much for the GPU; ROCm gets what is given."""
    halo = msgspec.structs.replace(HALO, **({"memory": int(given * GIB)} | gpu))
    return change(change(amd_host((halo,)), "amd.boards.0.vram", int(gib * GIB)), "host.memory", 32 * GIB)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            reserved(96, 15.9),
            (
                "problem",
                "ROCm gets 15.9 GiB of memory on GPU 0 (Radeon 8060S), although the firmware reserves 96 GiB for it: "
                "the reserved memory is not given to programs by kernel 6.8.0-60-generic.",
            ),
        ),
        (reserved(96, 96), ("pass", "")),  # a kernel that takes the larger of the two
        (reserved(0.5, 62), ("pass", "")),  # from RAM, as AMD recommends
        (reserved(0.5, 0.5), ("pass", "")),
        (reserved(96, 95), ("pass", "")),
        (change(reserved(96, 15.9), "amd.boards.0.vram", UNREADABLE), ("unknown", "not to be read")),
        (reserved(96, 0, memory=UNREADABLE), ("unknown", "not to be read")),
        (change(reserved(24, 16), "pci.0.integrated", False), ("pass", "")),
        (change(instinct_node(1, 8), "amd.boards.0.vram", 192 * GIB), ("pass", "")),
    ],
)
def test_memory_that_the_firmware_reserves(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(reserved_memory_unused, facts) == [verdict]


@pytest.mark.parametrize(("memory", "pages"), [(32 * GIB, f"{124 * GIB // 4096}"), (UNREADABLE, "")])
def test_ram_instead_of_reserved_memory(memory: object, pages: str) -> None:
    ((newer, *rest),) = (v.fixes for v in run(reserved_memory_unused, change(reserved(96, 16), "host.memory", memory)))
    assert "6.16.9" in newer.message
    assert [f"ttm.pages_limit={pages}" in fix.message for fix in rest] == [True] * bool(pages)
