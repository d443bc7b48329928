"""The text: how many are well comes first, worst causes next; nothing is wider than the terminal, nothing moves it."""

import re

import msgspec
import pytest

from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.renderers import text
from gpudoctor.fleet.renderers.lines import bar, folded_lines
from gpudoctor.fleet.renderers.phrases import in_short
from gpudoctor.fleet.summary import Departure, Drift, Fleet, Outlier, Spread
from gpudoctor.report.inventory import GPU, MACHINE
from gpudoctor.report.model import FixEntry
from tests.fleet.fleets import EMPTY, FLEETS, H100, healthy, large

LARGE = text.render(large(1000))


def test_the_first_line_says_how_many_of_how_many_are_well() -> None:
    assert " ".join(LARGE.split()).startswith("FAIL 950 of 1,000 nodes are healthy; 11 fail, 1 is incomplete, ")
    assert text.render(healthy()).startswith("PASS  All 12 nodes are healthy.\n")
    assert text.render(EMPTY) == "INCOMPLETE  No nodes: there are no reports, and no node was checked.\n"


def test_the_sections_come_in_the_order_in_which_somebody_needs_them() -> None:
    order = (
        "950 of 1,000",
        "unreachable      2  node[0998-0999]",
        "differ    configuration drift in 3 facts; outliers in 1 measured figure",
        "Causes (details and commands: --cause ID, or --all)",
        "  FAIL         7  node[0005-0008,0501-0503]: The driver's libraries",
        "-> Reboot\n                  (driver.library-mismatch)",
        "  FAIL         3  node[0012-0014]: A GPU has fewer PCIe lanes",
        "-> Seat the card again, with the machine",
        "  WARN        34  node[0025-0058]: Programs may lock too little memory -> Raise",
        "Without a verdict",
        "unreachable: ssh: connect to host: No route to host",
        f"Configuration drift: {H100}",
        "driver (loaded): 580.95.05 on 742 of 750",
        "570.172.08",
        "package torch: no majority",
        "Outliers (distance from the median in sigma = 1.4826 x MAD)",
        "node0017 GPU 3: 13.1 (-104.5 sigma)",
        "Since 2026-11-20 03:20:44 UTC",
        "- pass before, fail now",
        "Fix the first cause on node0005",
        "FAIL  950 of 1,000",
    )
    places: list[int] = []
    for words in order:
        places.append(LARGE.index(words, places[-1] if places else 0))
    assert places == sorted(places)


def test_details_of_a_cause_and_of_all() -> None:
    details = (
        "FAIL      The driver's libraries",
        "node[0005-0008,0501-0503]\n          node0005: The libraries are 580.95.05",
        "sudo reboot",
        "run       gpudoctor fix driver.library-mismatch --with-root  (on the node)",
    )
    other = "FAIL      A GPU has fewer PCIe lanes than it could have (3 nodes, 5 times)"
    one = text.render(large(1000), cause="driver.library-mismatch")
    assert all(words in one for words in details)
    assert other not in one
    assert "Without a verdict" not in one
    whole = text.render(large(1000), everything=True)
    assert all(words in whole for words in (*details, other, "driver (loaded) [nvidia.kernel.loaded]: 580.95.05"))
    assert not any(words in LARGE for words in (*details, other))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Reboot: this loads module 550.120.", "Reboot: this loads module 550.120"),
        ("Raise the limit.", "Raise the limit"),
        (
            "Install a build for CUDA 12.8 with `pip`, then import it.",
            "Install a build for CUDA 12.8 with pip, then import it",
        ),
        ("If you do not want to partition the GPU, disable MIG.", "Disable MIG"),
        (
            "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen.",
            "One two three four five six seven eight nine ten eleven twelve thirteen fourteen...",
        ),
        ("", ""),
    ],
)
def test_a_fix_in_some_words(message: str, words: str) -> None:
    one = msgspec.structs.replace(large(40).causes[0], fixes=(FixEntry(message),))
    assert in_short(one) == words


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("nvidia.kernel.loaded", "driver (loaded)"),
        ("gpus.*.vbios and 3 more facts", "VBIOS and 3 more facts"),
        ("packages.nvidia-nccl-cu12", "package nvidia-nccl-cu12"),
        ("packages[~/venv/bin/python].torch", "package torch (~/venv/bin/python)"),
        ("packages.*", "packages"),
        ("something.new", "something.new"),
    ],
)
def test_facts_have_names_for_people(path: str, name: str) -> None:
    assert fact_name(path) == name


def test_every_compared_fact_has_a_name() -> None:
    assert not [path for path in (*MACHINE, *(f"gpus.*.{name}" for name in GPU)) if fact_name(path) == path]


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("name", ["large", "small", "healthy", "empty"])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    commands = {command for cause in FLEETS[name].causes for fix in cause.fixes for command in fix.commands}
    for line in text.render(FLEETS[name], width).splitlines():
        assert len(line) <= width or line.strip() in commands, line


def test_colours_only_where_they_are_wanted() -> None:
    coloured = text.render(large(40), 80, colour=True)
    assert "\x1b[" in coloured
    assert "\x1b" not in text.render(large(40), 80)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split() == text.render(large(40), 80).split()


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("colour", [False, True])
def test_a_hostile_text_moves_no_cursor(everything: bool, colour: bool) -> None:
    reported = text.render(FLEETS["hostile"], 80, colour, everything)
    reported = re.sub(r"\x1b\[[\d;]*m", "", reported) if colour else reported
    assert not {sign for sign in reported if sign != "\n" and (ord(sign) < 32 or 127 <= ord(sign) < 160)}
    assert not set(reported) & {"\u202e", "\u2028", "\ud800"}
    assert "alert(1)" in reported
    assert "]0;t" in reported  # as text, behind a backslash


def test_many_nodes_are_cut_and_all_of_them_shown_on_demand() -> None:
    whole = text.render(large(1000), everything=True)
    cut = [line for line in LARGE.splitlines() if re.search(r"\] and \d+ more", line)]
    assert cut
    assert not [line for line in whole.splitlines() if re.search(r"\] and \d+ more", line)]
    assert "0996" in whole.partition("2.9.0")[2].partition("2.8.0")[0]


def test_many_causes_are_counted_and_shown_on_demand() -> None:
    one = large(40).causes[0]
    many = tuple(msgspec.structs.replace(one, check=f"area.check-{n}") for n in range(text.CAUSES + 7))
    fleet = msgspec.structs.replace(large(40), causes=many)
    assert "And 7 more (--all shows them)." in text.render(fleet)
    assert "area.check-26" not in text.render(fleet)
    assert "area.check-26" in text.render(fleet, everything=True)


def test_many_kinds_of_hardware_are_counted_and_shown_on_demand() -> None:
    one = healthy().groups[0]
    kinds = tuple(msgspec.structs.replace(one, hardware=f"kind {n} of GPU", count=2) for n in range(text.GROUPS + 7))
    fleet = msgspec.structs.replace(healthy(), groups=kinds)
    assert "        14 nodes with 7 other kinds of hardware (--all shows them)\n" in text.render(fleet)
    assert "kind 15 of GPU" not in text.render(fleet)
    assert "kind 15 of GPU" in text.render(fleet, everything=True)


def test_many_values_of_a_fact_are_counted_and_shown_on_demand() -> None:
    drift = large(40).drifts[0]
    others = tuple(Departure(value=f"6.8.{n}", nodes=f"n{n}", count=1) for n in range(20, 32))
    fleet = msgspec.structs.replace(
        large(40), drifts=(msgspec.structs.replace(drift, departures=others, values=1 + len(others)),)
    )
    assert "    6.8.25 " in text.render(fleet)
    assert "    6.8.26 " not in text.render(fleet)
    assert "    and 6 more values\n" in text.render(fleet)
    assert "    6.8.31 " in text.render(fleet, everything=True)
    assert "more values" not in text.render(fleet, everything=True)


def test_many_reasons_are_counted_and_shown_on_demand() -> None:
    one = large(40).missing[0]
    many = tuple(msgspec.structs.replace(one, why=f"reason {n} of them") for n in range(text.MISSING + 7))
    fleet = msgspec.structs.replace(large(40), missing=many)
    assert "And 7 more reasons (--all shows them)." in text.render(fleet)
    assert "reason 15 of them" not in text.render(fleet)
    assert "reason 15 of them" in text.render(fleet, everything=True)


def test_figures_without_an_outlier_are_counted_and_shown_on_demand() -> None:
    assert "1 more figure without outliers (--all shows them)." in LARGE
    assert "pytorch.matmul" not in LARGE
    assert "pytorch.matmul bf16.rate in TFLOP/s" in text.render(large(1000), everything=True)


def test_a_comparison_that_found_nothing_says_so() -> None:
    same = msgspec.structs.replace(healthy(), since="2026-11-20T03:20:44Z")
    assert (
        "Since 2026-11-20 03:20:44 UTC\n  No changes: the same states, causes, majority values and medians.\n"
        in text.render(same)
    )
    assert "Since" not in text.render(healthy())


def spread(*five: float, outliers: tuple[float, ...] = ()) -> Spread:
    found = tuple(Outlier(node="n", device="GPU 0", value=value, deviations=9.0) for value in outliers)
    least, low, median, high, most = five
    return Spread(
        hardware="h", figure="f", unit="u", count=9, deviation=1.0, outliers=found, least=least, low=low,
        median=median, high=high, most=most,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (spread(0, 2, 5, 8, 10), "--===|===--"),
        (spread(0, 2, 5, 8, 10, outliers=(0, 10)), "*-===|===-*"),
        (spread(0, 9, 10, 10, 10, outliers=(0,)), "*--------=|"),
        (spread(3, 3, 3, 3, 3), "|"),
        (spread(0, 1, 2, 3, float("inf")), "|"),
        (spread(0, float("nan"), 5, 8, 10), "=====|===--"),
    ],
)
def test_a_bar(one: Spread, expected: str) -> None:
    assert bar(one, 11) == expected


@pytest.mark.parametrize(
    ("folded", "most", "expected"),
    [
        ("node[1-3]", 0, ["node[1-3]"]),
        ("node[01,03,05,07]", 0, ["node[01,", "03,05,07]"]),
        ("node[01,03,05,07,09,11]", 2, ["node[01] and 5 more"]),
        ("a[1-8],b[1-8]-c[1-2]", 1, ["24 nodes"]),
        ("a\x1b[2Jb\nc", 0, ["a\\x1b[2Jb c"]),
        ("", 1, [""]),
    ],
)
def test_folded_nodes_on_lines(folded: str, most: int, expected: list[str]) -> None:
    assert folded_lines(folded, 10 if "x1b" not in expected[0] else 40, most) == expected


def test_a_state_that_nobody_knows_is_shown() -> None:
    fleet = Fleet(total=1, states={"melted": "node1"}, counts={"melted": 1})
    assert "melted" in text.render(fleet)
    assert text.render(fleet).startswith("INCOMPLETE")


def test_a_fact_that_nearly_every_node_has_alone() -> None:
    drift = Drift(hardware=H100, fact="host.memory", majority="", count=0, known=40, departures=(), values=38)
    reported = text.render(msgspec.structs.replace(large(40), drifts=(drift,)))
    assert "memory: nearly every node differs (38 values on 40 nodes)" in " ".join(reported.split())


def test_values_that_are_not_listed_are_counted() -> None:
    first = large(40).drifts[0]
    reported = text.render(msgspec.structs.replace(large(40), drifts=(msgspec.structs.replace(first, values=9),)))
    assert "and 7 more values" in reported
    assert "more values" not in text.render(large(40))


def test_a_device_that_stands_apart_in_several_figures_is_named_once() -> None:
    fleet = large(40)
    assert "In several figures" not in text.render(fleet)
    again = msgspec.structs.replace(fleet.spreads[1], outliers=fleet.spreads[0].outliers[:1])
    reported = text.render(msgspec.structs.replace(fleet, spreads=(fleet.spreads[0], again)))
    assert "Outliers in several figures: node017 GPU 3 (2)\n" in reported


def test_many_causes_that_are_not_told_apart_have_no_fix() -> None:
    one = msgspec.structs.replace(large(40).causes[0], check="", title="Other findings")
    fleet = msgspec.structs.replace(large(40), causes=(one,))
    assert "node[005-008,021-023]: Other findings\n" in text.render(fleet)
    reported = text.render(fleet, everything=True)
    assert "Other findings (7 nodes)" in reported
    assert "gpudoctor fix" not in reported
    assert not re.search("^id", reported, re.MULTILINE)


def test_nodes_that_are_well_and_not_alike_are_told_beside_the_verdict() -> None:
    fleet = msgspec.structs.replace(healthy(), drifts=large(40).drifts[:1])
    assert text.render(fleet).splitlines()[3] == "differ    configuration drift in 1 fact"
    assert "differ" not in text.render(healthy())
