"""Tests of the list's lines, and of what the detail says of them and of a node."""

import msgspec
import pytest

from gpudoctor.fleet.summary import Cause, Change, Fleet, Missing
from gpudoctor.tui.diagnosis.lines import INDENT
from gpudoctor.tui.diagnosis.page import Page
from gpudoctor.tui.fleet import node_page, pages
from gpudoctor.tui.fleet.entries import CAUSES, CHANGES, DRIFT, MISSING, SPREADS, FleetEntry, entries, heading
from gpudoctor.tui.fleet.nodes import Nodes
from gpudoctor.tui.fleet.words import legend, when, wrapped
from tests.fleet.fleets import EMPTY, FLEETS, healthy, large

FLEET = large()
NODES, ENTRIES = Nodes(FLEET), entries(FLEET)


def text(page: Page) -> str:
    return "\n".join(f"{line.label:<{INDENT}}{line.text}" for line in page.lines)


def entry(group: str, number: int = 0) -> FleetEntry:
    return [one for one in ENTRIES if one.group == group][number]


def test_all_that_is_said_is_listed_in_its_order() -> None:
    groups = list(dict.fromkeys(one.group for one in ENTRIES))
    assert groups == [CAUSES, MISSING, DRIFT, SPREADS, CHANGES]
    assert len(ENTRIES) == 4 + 3 + 3 + 2 + 3
    assert len({one.key for one in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize(
    ("group", "number", "label", "title", "below"),
    [
        (CAUSES, 0, "FAIL", "The driver's libraries are not", "7 nodes  node[0005-0008,0501-0503]"),
        (CAUSES, 1, "FAIL", "A GPU has fewer PCIe lanes", "3 nodes, 5 findings  node[0012-0014]"),
        (CAUSES, 3, "WARN", "Programs may lock", "34 nodes  node[0025-0058]"),
        (MISSING, 1, "T", "timed out: It did not finish within 150 s", "1 node  node0010"),
        (DRIFT, 0, "differs", "driver (loaded): 580.95.05 on 742 of 750", "8 nodes differ  570.172.08: node["),
        (DRIFT, 2, "differs", "package torch: no value has a majority", "246 nodes differ  2.9.0: "),
        (SPREADS, 0, "outlier", "pytorch.transfer.h2d pinned: 54.9 GB/s", "5 of 6,000 are outliers  node0017"),
        (SPREADS, 1, "ok", "pytorch.matmul bf16.rate: 655.0 TFLOP/s", "6,000 values, no outliers"),
        (CHANGES, 0, "worse", "pass before, fail now", "7 nodes  node["),
    ],
)
def test_what_a_line_says(group: str, number: int, label: str, title: str, below: str) -> None:
    one = entry(group, number)
    assert one.label == label
    assert one.title.startswith(title)
    assert one.below.startswith(below)


def test_headings_count() -> None:
    of = [(group, heading(group, [one for one in ENTRIES if one.group == group], FLEET)) for group in (CAUSES, MISSING)]
    assert of == [(CAUSES, "Causes (4)"), (MISSING, "Without a verdict (4 nodes)")]
    assert heading(CHANGES, [entry(CHANGES)], FLEET) == "Changes since 2026-11-20T03:20:44Z (1)"


def test_a_cause_has_its_nodes_an_example_and_its_commands() -> None:
    page = pages.page(entry(CAUSES), 80)
    said = text(page)
    for words in (
        "on         node[0005-0008,0501-0503]",
        "FAIL       node0005: The libraries are 580.95.05",
        "cause      The driver's packages were",
        "needs root",
    ):
        assert words in said
    assert [command.text for command in page.commands] == ["sudo reboot", "nvidia-smi"]
    assert page.commands[1].verifies
    assert [line.press for line in page.lines if line.label == "on"] == [pages.COPY_NODES]


def test_a_cause_names_the_gpu_of_each_node() -> None:
    reported = text(pages.page(entry(CAUSES, 1), 120))
    assert "node0012: GPU 3 at 0000:3b:00.0: GPU 3 has 4 of 16 lanes." in reported
    assert "node0013: GPU 4 at 0000:4b:00.0: GPU 4 has 4 of 16 lanes." in reported
    assert "node0013: LnkSta of 0000:4b:00.0: Width x4" in reported
    own = text(node_page.page(FLEET, NODES, NODES.names.index("node0013"), 120))
    assert "GPU 4 has 4 of 16 lanes." in own
    assert "GPU 3" not in own


def test_a_drift_says_who_departs_and_an_outlier_how_far() -> None:
    drift = text(pages.page(entry(DRIFT, 1), 80))
    assert "most       96.00.61.00.01" in drift
    assert "but        96.00.5E.00.02" in drift
    assert "node[0003-0004]" in drift
    spread = text(pages.page(entry(SPREADS), 80))
    assert "node0017 GPU 3  13.1 GB/s  -104.5 sigma (MAD)" in spread
    assert "and 3 more outliers" in spread
    assert "13.1 ●" in spread
    assert "No outliers." in text(pages.page(entry(SPREADS, 1), 80))


def test_many_values_are_cut_and_counted() -> None:
    drift = entry(DRIFT).about
    many = msgspec.structs.replace(drift, departures=drift.departures * 300)  # type: ignore[union-attr]
    assert "and 100 more values" in text(pages.page(entries(Fleet(drifts=(many,)))[0], 80))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "node0005",
            ["state      fail", "hardware   8 x NVIDIA H100", "The driver's libraries", "driver (loaded): 570"],
        ),
        ("node0010", ["state      timed out", "reason     It did not finish within 150 s"]),
        (
            "node0017",
            ["state      pass", "GPU 3, pytorch.transfer.h2d pinned: 13.1 GB/s", "104.5 sigma (MAD) below"],
        ),
        ("node0900", ["This node is healthy.", "package torch: 2.9.0", "No majority"]),
    ],
)
def test_what_is_known_of_a_node(name: str, words: list[str]) -> None:
    node = NODES.place(name)
    assert node is not None
    said = text(node_page.page(FLEET, NODES, node, 100))
    for one in words:
        assert one in said


def test_a_node_without_a_report_offers_none() -> None:
    for name, offered in (("node0010", False), ("node0005", True)):
        page = node_page.page(FLEET, NODES, NODES.place(name) or 0, 80)
        assert (node_page.OPEN in {line.press for line in page.lines}) is offered


def test_the_fixes_of_several_causes_are_kept_apart() -> None:
    page = node_page.page(FLEET, NODES, NODES.place("node0014") or 0, 80)  # narrow link, and memory
    assert [(one.check, one.fix) for one in page.commands] == [("health.ecc-uncorrected", 0)]
    both = Cause(check="b", status="fail", title="t", cause="c", message="s", example="e", nodes="node0005", count=1,
                 fixes=FLEET.causes[3].fixes)  # fmt: skip
    fleet = msgspec.structs.replace(FLEET, causes=(FLEET.causes[0], both))
    page = node_page.page(fleet, NODES, NODES.place("node0005") or 0, 80)
    assert [one.fix for one in page.commands] == [0, 0, 1]
    assert {line.command for line in page.lines if line.command is not None} == {0, 1, 2}


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("width", [20, 80, 160])
def test_no_line_of_any_page_is_harmful_or_too_wide(name: str, width: int) -> None:
    fleet = FLEETS[name]
    nodes = Nodes(fleet)
    made = [pages.page(one, width) for one in entries(fleet)]
    made += [node_page.page(fleet, nodes, node, width) for node in range(min(50, len(nodes.names)))]
    for page in made:
        for line in page.lines:
            assert line.text.isprintable()
            assert line.label.isprintable()
            assert len(line.label) < INDENT


def test_what_is_missing_without_a_reason_says_so() -> None:
    one = entries(Fleet(missing=(Missing(state="not asked", why="", nodes="n1", count=1),)))[0]
    assert (one.label, one.title) == ("N", "not asked")
    assert "No reason was recorded." in text(pages.page(one, 60))


def test_a_change_without_nodes() -> None:
    one = entries(Fleet(changes=(Change(kind="appeared", message="n9 is new"),)))[0]
    assert (one.label, one.below, one.sets) == ("new", "", ())
    assert "n9 is new" in text(pages.page(one, 60))


# -- the first line --------------------------------------------------------------------------------------


def test_the_states_are_counted_worst_first_with_their_letters() -> None:
    said = ["".join(text for text, _ in piece) for piece in legend(FLEET)]
    assert said == [
        "1,000 nodes", "F 11 fail", "I 1 incomplete", "T 1 timed out", "U 2 unreachable", "R 1 refused", "W 34 warn",
        "· 950 pass",
    ]  # fmt: skip
    assert ["".join(t for t, _ in piece) for piece in legend(EMPTY)] == ["0 nodes"]
    assert legend(healthy(1))[0] == [("1 node", "heading")]


@pytest.mark.parametrize(
    ("oldest", "newest", "message"),
    [
        ("", "", ""),
        ("2026-11-21T03:05:12Z", "2026-11-21T03:20:59Z", "reports of 2026-11-21 03:05 to 03:20 UTC"),
        ("2026-11-20T23:05:12Z", "2026-11-21T03:20:59Z", "reports of 2026-11-20 23:05 to 2026-11-21 03:20 UTC"),
        ("2026-11-21T03:05:12Z", "2026-11-21T03:05:59Z", "reports of 2026-11-21 03:05 UTC"),
    ],
)
def test_from_when_the_reports_are(oldest: str, newest: str, message: str) -> None:
    assert when(Fleet(oldest=oldest, newest=newest)) == message


def test_pieces_stay_whole() -> None:
    rows = wrapped([[("ab", "")], [("cd", ""), ("e", "")], [("", "")], [("fg", "")]], 8)
    assert ["".join(text for text, _ in row) for row in rows] == ["ab   cde", "fg"]
