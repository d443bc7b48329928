"""What one can compare with, how it is kept, and how rows fit beside each other."""

import os
from pathlib import Path

import pytest

from gpudoctor.comparison import Comparison, Difference, DifferenceGroup, DifferenceState
from gpudoctor.facts.facts_file import FactsFileError, read
from gpudoctor.tui.compare import saved_facts
from gpudoctor.tui.compare.choices import choices, typed
from gpudoctor.tui.compare.completion import completed
from gpudoctor.tui.compare.layout import Columns, Filter, cells, columns, grouped, more, summary, whole
from tests.builders import nvidia_host
from tests.checks.nvidia_machines import having

# -- keeping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.local/state/gpudoctor"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "/state"}, "/state/gpudoctor"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "relative"}, "/home/me/.local/state/gpudoctor"),
    ],
)
def test_facts_are_kept_where_states_are_kept(env: dict[str, str], folder: str) -> None:
    assert saved_facts.folder(env) == folder


def test_kept_facts_are_masked_and_found_again_newest_first(tmp_path: Path) -> None:
    where = str(tmp_path / "new" / "gpudoctor")
    facts = having(nvidia_host(), host__hostname="secretive", gpus__0__serial="1650")
    first, second = saved_facts.keep(facts, where, 1e9), saved_facts.keep(facts, where, 1e9 + 86400)
    (tmp_path / "new" / "gpudoctor" / "other.json").write_text("{}")
    assert saved_facts.kept(where) == [second, first]
    assert read(first).host.hostname == "host"
    assert "1650" not in Path(first).read_text()
    assert os.stat(where).st_mode & 0o077 == 0
    assert saved_facts.kept(str(tmp_path / "none")) == []


# -- choices -------------------------------------------------------------------------------------------------


def test_one_can_choose_kept_ones_files_and_demos(tmp_path: Path) -> None:
    state, here = tmp_path / "state", tmp_path / "here"
    here.mkdir()
    saved_facts.keep(nvidia_host(), str(state / "gpudoctor"), 0.0)
    for name in ("b.json", "a.json", "notes.txt"):
        (here / name).write_text("{}")
    (here / "folder.json").mkdir()
    found = choices({"XDG_STATE_HOME": str(state)}, str(here))
    assert [(one.group, one.name) for one in found[1:3]] == [
        ("Files in this directory", "a.json"),
        ("Files in this directory", "b.json"),
    ]
    assert found[0].group == "This machine, saved earlier"
    assert found[0].name.startswith(("1970-01-01 ", "1969-12-31 "))
    assert found[3].demo
    assert found[3].read().title == f"demo: {found[3].target}"
    assert found[0].read().facts is not None
    assert choices({"XDG_STATE_HOME": "/nowhere"}, "/nowhere")[0].demo


def test_a_typed_path_may_be_relative_or_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert typed("~/good.json", "/code").target == "/home/me/good.json"
    assert typed("good.json", "/code").target == "/code/good.json"
    assert typed("/x/good.json", "/code").name == "good.json"
    with pytest.raises(FactsFileError):
        typed("none.json", str(tmp_path)).read()


def test_paths_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "reports").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "reports" / "good.json").write_text("{}")
    (tmp_path / "reports" / "good.txt").write_text("")
    here = str(tmp_path)
    assert completed("re", here) == "reports/"
    assert completed("reports/g", here) == "reports/good.json"
    assert completed("~/rep", "/") == "~/reports/"
    assert completed(f"{here}/reports/", "/") == f"{here}/reports/good.json"
    assert completed(".h", here) == ".hidden/"
    assert [completed(text, here) for text in ("", "x", "none/", "reports/good.json")] == [None] * 4


# -- rows ----------------------------------------------------------------------------------------------------

LINK = Difference(path="gpus.3.link_width", group=DifferenceGroup.GPUS, here="4", there="16")
BLIND = Difference(
    path="gpus.3.ecc",
    group=DifferenceGroup.SETTINGS,
    state=DifferenceState.UNKNOWN_THERE,
    here="yes",
    there="unknown: no right",
)
NUMPY = Difference(path="pythons.1.packages.numpy.version", group=DifferenceGroup.REST, here="2.1", there="1.26")
RATE = Difference(
    path="x.figures.rate", group=DifferenceGroup.MEASURED, here="798 TFLOP/s", there="399 TFLOP/s", change=-0.5
)
ROWS = (LINK, BLIND, RATE, NUMPY)


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (Filter(), ROWS),
        (Filter(all=False), (LINK, BLIND, RATE)),
        (Filter(unknown=False), (LINK, RATE, NUMPY)),
        (Filter(words="GPUS.3"), (LINK, BLIND)),
        (Filter(words="pcie LANES"), (LINK,)),
        (Filter(words="1.26"), (NUMPY,)),
        (Filter(words="no right"), (BLIND,)),
        (Filter(words="nothing of the kind"), ()),
    ],
)
def test_rows_are_filtered(wanted: Filter, shown: tuple[Difference, ...]) -> None:
    assert tuple(row for _, rows in grouped(ROWS, wanted) for row in rows) == shown


def test_rows_stand_under_their_headings() -> None:
    titles = ["GPUs, links and memory", "Clocks, ECC and settings", "Measured", "Everything else"]
    assert [title for title, _ in grouped(ROWS, Filter())] == titles


@pytest.mark.parametrize("width", [60, 79, 119, 199])
def test_columns_fill_the_width(width: int) -> None:
    wide = columns(ROWS, width)
    assert sum(wide) + 4 == width
    assert all(len(cell) == column for row in ROWS for cell, column in zip(cells(row, wide), wide, strict=True))


def test_a_long_value_shows_where_it_differs() -> None:
    folder = "/usr/lib/x86_64-linux-gnu/libcuda.so"
    row = Difference(
        path="nvidia.cuda.loaded", group=DifferenceGroup.DRIVER, here=f"{folder}.550.120", there=f"{folder}.580.95.05"
    )
    label, here, there = cells(row, Columns(10, 20, 20))
    assert label == "libcuda i…"
    other = Difference(path="apple.gpus.count", group=DifferenceGroup.REST)  # has no other name
    assert cells(other, Columns(10, 20, 20))[0] == "…pus.count"
    assert here.strip().endswith("550.120")
    assert there.strip().endswith("580.95.05")
    long = Difference(path="x", group=DifferenceGroup.REST, here="a" * 50, there="b" * 50)
    assert cells(long, Columns(3, 10, 10))[1] == "aaaaaaaaa…"


def test_an_absent_value_is_marked_and_a_number_tells_how_much_it_changed() -> None:
    only = Difference(path="gpus.7", group=DifferenceGroup.GPUS, state=DifferenceState.ONLY_HERE, here="H100")
    assert cells(only, Columns(6, 5, 5))[2].strip() == "—"
    assert more(RATE) == " (-50%)"
    assert more(Difference(path="x", group=DifferenceGroup.GPUS, change=63.0)) == " (x64)"
    assert whole(RATE, "a", "b") == "x.figures.rate\na: 798 TFLOP/s\nb: 399 TFLOP/s (-50%)"


def test_what_came_of_it_is_a_sentence() -> None:
    found = Comparison(here="a", there="b", rows=ROWS)
    assert summary(found, Filter()) == "2 differences that matter, 1 other, 1 unknown on one side."
    assert summary(found, Filter(words="numpy")).endswith("; 1 shown.")
    assert summary(Comparison(here="a", there="b"), Filter()).startswith("No relevant differences")
    assert "a report" in summary(Comparison(here="a", there="b", rows=ROWS, whole=False), Filter())
