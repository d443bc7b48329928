"""Checks of AMD's cards themselves: not driven, hung, with bad memory, divided, unlinked, held slow."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Check, Severity, run
from gpudoctor.checks.rocm.bad_pages import bad_pages
from gpudoctor.checks.rocm.fewer_gpus import fewer_gpus
from gpudoctor.checks.rocm.hangs import hangs
from gpudoctor.checks.rocm.held_slow import held_slow
from gpudoctor.checks.rocm.hive_split import hive_split
from gpudoctor.checks.rocm.iommu_translates import iommu_translates
from gpudoctor.checks.rocm.narrow_link import narrow_link
from gpudoctor.checks.rocm.not_driven import not_driven
from gpudoctor.checks.rocm.overheated import overheated
from gpudoctor.checks.rocm.page_faults import page_faults
from gpudoctor.checks.rocm.partitions_differ import partitions_differ
from gpudoctor.checks.rocm.partitions_missing import partitions_missing
from gpudoctor.checks.rocm.reset_failed import reset_failed
from gpudoctor.checks.rocm.small_bar import small_bar
from gpudoctor.checks.rocm.uncorrectable_errors import uncorrectable_errors
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, live, nvidia_host
from tests.checks.amd_machines import IGPU, RADEON, amd_host, instinct_node
from tests.checks.rocm.test_rocm import card, inside

ALL: tuple[Check[Any], ...] = (
    bad_pages,
    hangs,
    held_slow,
    hive_split,
    iommu_translates,
    narrow_link,
    not_driven,
    overheated,
    page_faults,
    partitions_differ,
    partitions_missing,
    reset_failed,
    small_bar,
    uncorrectable_errors,
)
WHY = Unknown("not to be seen")
FIRST, SECOND = "0000:01:00.0", "0000:02:00.0"


def said(facts: Facts) -> dict[str, str]:
    """The problems that the checks see: id and sentence."""
    return {
        c.id.removeprefix("rocm."): message for c in ALL for outcome, message in ask(c, facts) if outcome == "problem"
    }


def severity(check: Check[Any], facts: Facts) -> Severity:
    """How bad the first problem is."""
    return next(verdict.severity for verdict in run(check, facts) if verdict.problem)


def reported(kind: str, text: str, gpu: str | None = FIRST, **parts: Any) -> LogEvent:
    """A line of the log, with what it names."""
    what = {name: str(part) for name, part in parts.items() if name != "code"}
    return LogEvent(
        kind=kind, text=f"amdgpu {gpu or ''}: {text}", gpu=gpu, code=parts.get("code"), what={"text": text} | what
    )


def logged(*events: LogEvent, facts: Facts | None = None) -> Facts:
    """A machine with these lines in its log."""
    return change(facts or amd_host(), "log.events", events)


BEGIN, GOOD = reported("amdgpu-reset", "GPU reset begin!"), reported("amdgpu-reset", "GPU reset(2) succeeded!")
BAD = reported("amdgpu-reset", "GPU reset end with ret = -62")
TIMEOUT = reported("amdgpu-ring-timeout", "comp_1.0.0")
LOADED = reported("amdgpu-loaded", "amdgpu kernel modesetting enabled", None)
VM = change(instinct_node(1, iommu=None), "host.virtual", "kvm")


@pytest.mark.parametrize(
    "facts",
    [
        nvidia_host(),
        amd_host(),
        amd_host((RADEON, IGPU)),
        instinct_node(),
        instinct_node(8, 8),
        instinct_node(8, 4, memory_partition="NPS2"),
        inside(change(instinct_node(), "gpus", instinct_node(2).gpus)),  # two of eight
        VM,
        amd_host((msgspec.structs.replace(RADEON, name="AMD Radeon 8060S", gfx="gfx1151", integrated=True),)),
        instinct_node(4, hive=None),
        instinct_node(pages_retired=3),
        logged(BEGIN),
        logged(BAD, BEGIN, GOOD),
        logged(BAD, TIMEOUT, LOADED),  # loaded anew since
        logged(reported("amdgpu-ring-timeout", "vcn_unified_0")),
        logged(reported("amdgpu-ras", "uncorrectable hardware errors detected in total in gfx block", code=0)),
        logged(reported("amdgpu-ras", "correctable hardware errors detected in umc block", code=7)),
        logged(reported("amdgpu-ring-timeout", "gfx_0.0.0", None), facts=amd_host((RADEON, IGPU))),  # of which card?
        change(amd_host(), "pci.0.driver", "vfio-pci"),
        change(amd_host(), "pci.0.driver", None),  # KFD lists it: it is driven, whatever the bus shows
        inside(change(change(amd_host(), "pci.0.driver", None), "gpus", ())),
        change(amd_host((RADEON, card("gfx1100", 1))), "pci.1.bar1", 24 << 30),
        change(change(amd_host((RADEON, card("gfx1100", 1))), "pci.1.bar1", 256 << 20), "host.virtual", "kvm"),
        change(amd_host((RADEON,)), "pci.0.bar1", 256 << 20),  # alone
    ],
)
def test_healthy(facts: Facts) -> None:
    assert said(facts) == {}


WORN = reported("amdgpu-bad-pages", "RAS records:300 exceed threshold:256", code=300)


def link(generation: int, width: int, most: int) -> Facts:
    """A card of the fourth generation whose link is as given."""
    facts = change(amd_host(), "pci.0.link_generation", generation)
    return change(change(facts, "pci.0.link_width", width), "pci.0.link_width_max", most)


TWO = amd_host((RADEON, card("gfx1100", 1)))


@pytest.mark.parametrize(
    "facts",
    [
        link(4, 16, 16),
        link(4, 8, 16),
        link(4, 4, 8),
        link(1, 1, 16),  # it saves power
        change(link(4, 1, 16), "host.virtual", "kvm"),
        change(link(4, 1, 16), "pci.0.integrated", True),
        change(link(4, 1, 16), "pci.0.link_width_max", None),
    ],
)
def test_links_that_are_well(facts: Facts) -> None:
    assert ask(narrow_link, facts) == [("pass", "")]


def test_temperatures_that_are_well() -> None:
    warm = change(change(amd_host(), "gpus.0.temperature", 95), "gpus.0.temperature_slowdown", 100)
    assert ask(overheated, warm) == [("pass", "")]
    assert ask(overheated, change(warm, "gpus.0.temperature_slowdown", WHY)) == [("pass", "")]  # no such sensor
    assert ask(overheated, change(warm, "gpus.0.temperature", WHY)) == [("unknown", "not to be seen")]


def test_counts_that_are_well() -> None:
    counted = change(TWO, "pythons.0.frameworks.0.live", live(2))
    one = change(amd_host((RADEON, IGPU)), "pythons.0.frameworks.0.live", live(1))
    none = change(TWO, "pythons.0.frameworks.0.live", live(0))
    masked = change(
        change(TWO, "pythons.0.frameworks.0.live", live(1)), "host.environment", {"HIP_VISIBLE_DEVICES": "1"}
    )
    for facts in (counted, one, none, masked):
        assert ask(fewer_gpus, facts) == [("pass", "")]


def worn(**changes: Any) -> Facts:
    """One MI300X card, changed."""
    return instinct_node(1, **changes)


@pytest.mark.parametrize(
    ("check", "facts", "message"),
    [
        (reset_failed, logged(TIMEOUT, BEGIN, BAD), "GPU 0 (Radeon RX 7900 XTX) hung and could not be reset."),
        (
            reset_failed,
            logged(GOOD, reported("amdgpu-lost", "device lost from bus")),
            "GPU 0 (Radeon RX 7900 XTX) hung and dropped off the PCI bus.",
        ),
        (
            hangs,
            logged(TIMEOUT, BEGIN, GOOD),
            "GPU 0 (Radeon RX 7900 XTX) stopped responding once since amdgpu was loaded.",
        ),
        (
            hangs,
            logged(
                reported("kfd-hang", "MES failed to respond to msg=REMOVE_QUEUE"),
                TIMEOUT,
                reported("amdgpu-culprit", "", process="python3", pid=7),
            ),
            "GPU 0 (Radeon RX 7900 XTX) stopped responding 2 times since amdgpu was loaded, most recently while "
            "python3 was running.",
        ),
        (
            page_faults,
            logged(reported("amdgpu-fault", "no-retry page fault", process="python3")),
            "python3 hit a page fault on GPU 0 (Radeon RX 7900 XTX).",
        ),
        (
            page_faults,
            change(logged(reported("amdgpu-fault", "page fault")), "gpus", ()),
            "A program hit a page fault on the GPU at 0000:01:00.0 (Radeon RX 7900 XTX).",
        ),
        (
            uncorrectable_errors,
            change(worn(), "gpus.0.ecc_uncorrected", 1),
            "GPU 0 (AMD Instinct MI300X) had 1 uncorrectable hardware error since amdgpu was loaded.",
        ),
        (
            uncorrectable_errors,
            logged(
                reported("amdgpu-ras", "new uncorrectable hardware errors detected in umc block", code=2), facts=worn()
            ),
            "GPU 0 (AMD Instinct MI300X) had 2 uncorrectable hardware errors since amdgpu was loaded.",
        ),
        (
            bad_pages,
            worn(pages_pending=1, pages_retired=4),
            "GPU 0 (AMD Instinct MI300X) has 1 bad memory page that is still in use; 4 are retired.",
        ),
        (
            bad_pages,
            logged(WORN, facts=worn(pages_retired=300)),
            "GPU 0 (AMD Instinct MI300X) has more bad memory pages than AMD's threshold allows; 300 are retired.",
        ),
        (
            held_slow,
            worn(performance_level="low"),
            "GPU 0 (AMD Instinct MI300X) is locked at its lowest clocks: its performance level is 'low'.",
        ),
        (
            partitions_differ,
            change(instinct_node(3), "amd.boards.1.compute_partition", "CPX"),
            "The 3 Instinct cards have different partition modes: 2 in SPX/NPS1, 1 in CPX/NPS1.",
        ),
        (
            partitions_missing,
            change(instinct_node(2, 8), "gpus", instinct_node(2, 8).gpus[:15]),  # type: ignore[index]
            "1 of 2 cards in CPX mode has fewer GPUs than the others: 1 of 16 are missing.",
        ),
        (
            hive_split,
            change(instinct_node(4), "amd.boards.3.hive", None),
            "1 of 4 cards is outside the XGMI hive of the others: 0000:04:00.0.",
        ),
        (
            page_faults,
            logged(
                *(reported("amdgpu-fault", "page fault", process=name) for name in ("python3", "llama-cli")),
                *(reported("amdgpu-fault-client", "CPF") for _ in range(2)),
            ),
            "llama-cli and python3 hit a page fault on GPU 0 (Radeon RX 7900 XTX). The GPU's command processor "
            "faulted, not a kernel of the programs: its firmware is likely broken.",
        ),
        (
            iommu_translates,
            logged(
                reported("iommu-fault", "IO_PAGE_FAULT"),
                facts=amd_host((RADEON, card("gfx1100", 1))),
            ),
            "The IOMMU translates, and refused accesses of 0000:01:00.0: 1 page fault. Transfers between the GPUs "
            "fail or hang.",
        ),
        (
            iommu_translates,
            instinct_node(2, iommu="DMA-FQ"),
            "The IOMMU translates for 2 of 2 Instinct cards (domain type DMA-FQ).",
        ),
        (
            narrow_link,
            link(4, 4, 16),
            "The PCIe link of GPU 0 (Radeon RX 7900 XTX) runs at width x4; card and slot support x16.",
        ),
        (
            narrow_link,
            change(link(1, 1, 16), "gpus.0.utilization", 99),
            "The PCIe link of GPU 0 (Radeon RX 7900 XTX) runs at width x1; card and slot support x16.",
        ),
        (
            overheated,
            change(change(amd_host(), "gpus.0.temperature", 110), "gpus.0.temperature_slowdown", 110),
            "GPU 0 (Radeon RX 7900 XTX) is at 110 degrees C; its critical temperature is 110 degrees C.",
        ),
        (
            fewer_gpus,
            change(TWO, "pythons.0.frameworks.0.live", live(1)),
            "PyTorch 2.7.1+rocm6.3 counts 1 of the 2 GPUs that the kernel lists.",
        ),
        (
            small_bar,
            change(amd_host((RADEON, card("gfx1100", 1))), "pci.1.bar1", 256 << 20),
            "The PCI window (BAR 0) of 1 of 2 cards is 256 MiB or less: GPU 1 (Radeon).",
        ),
    ],
)
def test_problems(check: Check[Any], facts: Facts, message: str) -> None:
    assert [found for found in ask(check, facts) if found[0] != "pass"] == [("problem", message)]
    for verdict in run(check, facts):
        assert verdict.outcome.value != "problem" or verdict.fixes


@pytest.mark.parametrize(
    ("check", "facts", "path"),
    [
        (bad_pages, amd_host(), "amd.boards.0.pages_pending"),
        (bad_pages, amd_host(), "amd.boards"),
        (hangs, instinct_node(), "log.events"),  # one answer, however many cards there are
        (held_slow, amd_host(), "amd.boards.0.performance_level"),
        (hive_split, instinct_node(1), "amd.boards.0.hive"),
        (iommu_translates, instinct_node(2), "pci.1.iommu"),
        (page_faults, amd_host(), "log.events"),
        (partitions_differ, instinct_node(2), "amd.boards.1.compute_partition"),
        (partitions_missing, change(instinct_node(2, 8), "gpus", instinct_node(2, 8).gpus[:9]), "amd.closed_nodes"),  # type: ignore[index]
        (reset_failed, amd_host(), "log.events"),
        (small_bar, amd_host((RADEON, card("gfx1100", 1))), "pci.1.bar1"),
        (narrow_link, amd_host(), "pci.0.link_width"),
        (fewer_gpus, TWO, "pythons.0.frameworks.0.live.count"),
        (uncorrectable_errors, instinct_node(1), "gpus.0.ecc_uncorrected"),
    ],
)
def test_unknown(check: Check[Any], facts: Facts, path: str) -> None:
    assert ask(check, change(facts, path, WHY)) == [("unknown", "not to be seen")]


def test_partitions_that_a_job_may_not_see_are_not_missing() -> None:
    few = change(instinct_node(2, 8), "gpus", instinct_node(2, 8).gpus[:9])  # type: ignore[index]
    assert ask(partitions_missing, change(few, "amd.closed_nodes", 7)) == [("pass", "")]
    assert ask(partitions_missing, inside(few)) == [("pass", "")]


def test_partitions_are_compared_with_those_of_their_mode() -> None:
    whole = change(instinct_node(2), "gpus", instinct_node(2).gpus[:1])  # type: ignore[index]
    assert ask(partitions_missing, whole) == [("pass", "")]  # a whole card that KFD left out is another problem
    mixed = change(instinct_node(2, 8), "amd.boards.1.compute_partition", "QPX")
    four = change(mixed, "gpus", mixed.gpus[:12])  # type: ignore[index]
    assert ask(partitions_missing, four) == [("pass", "")]


def test_hives_of_cards_that_bridges_join() -> None:
    bridged = instinct_node(4)
    for number in range(4):
        bridged = change(bridged, f"gpus.{number}.gfx", "gfx90a")
    apart = change(change(bridged, "amd.boards.2.hive", "2"), "amd.boards.3.hive", None)
    assert ask(hive_split, apart) == [("pass", "")]
    single = change(instinct_node(2), "amd.boards.1.hive", None)
    assert ask(hive_split, single) == [("pass", "")]  # which of the two is outside?
    two = change(instinct_node(3), "amd.boards.0.hive", "2")
    assert ask(hive_split, two) == [("problem", "1 of 3 cards is outside the XGMI hive of the others: 0000:01:00.0.")]


def test_a_guest_and_a_container_can_set_neither_window_nor_iommu() -> None:
    small = change(TWO, "pci.1.bar1", 256 << 20)
    assert ask(small_bar, inside(small)) == [("pass", "")]
    translated = change(instinct_node(2, iommu="DMA"), "host.virtual", "kvm")
    assert ask(iommu_translates, translated) == [("pass", "")]
    assert ask(iommu_translates, instinct_node(2, iommu=None)) == [("pass", "")]


def test_small_windows_and_translation_only_where_cards_exchange_data() -> None:
    mixed = change(amd_host((RADEON, IGPU)), "pci.1.bar1", 256 << 20)
    assert ask(small_bar, mixed) == [("pass", "")]  # an integrated GPU shares the memory
    assert ask(iommu_translates, amd_host((RADEON, card("gfx1100", 1)))) == [("pass", "")]  # AMD wants it on for Radeon
    assert ask(iommu_translates, inside(instinct_node(2, iommu="DMA"))) == [("pass", "")]


def test_the_log_of_another_card_says_nothing_of_this_one() -> None:
    two = logged(reported("amdgpu-ring-timeout", "gfx_0.0.0", SECOND), facts=amd_host((RADEON, card("gfx1100", 1))))
    assert [outcome for outcome, _ in ask(hangs, two)] == ["pass", "problem"]


def test_partitions_of_one_card_are_one_finding() -> None:
    divided = change(instinct_node(1, 8), "amd.boards.0.pages_pending", 2)
    assert ask(bad_pages, divided) == [
        ("problem", "GPU 0 to 7 (AMD Instinct MI300X) has 2 bad memory pages that are still in use.")
    ]


def test_severity() -> None:
    assert severity(bad_pages, worn(pages_pending=1)) is Severity.WARNING
    assert severity(bad_pages, logged(WORN, facts=worn())) is Severity.ERROR
