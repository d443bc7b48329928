"""The ledger keeps what was told whatever happens to its disk or to us."""

import resource
from pathlib import Path

import pytest

from gpudoctor.fleet.runner.ledger import Ledger, LedgerError, read
from tests.apart import limited


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.jsonl")


def test_the_last_line_of_a_node_counts(path: str) -> None:
    ledger = Ledger(path)
    ledger.note("a", "failed", "It broke.", 1.5)
    ledger.note("b", "not asked")
    ledger.note("a", "reported")
    assert ledger.counts() == {"reported": 1, "not asked": 1}
    ledger.close()
    again = Ledger(path)
    assert again.entries == ledger.entries == read(path)
    again.close()


def test_a_line_that_was_cut_short_is_taken_away_by_who_goes_on_and_left_out_by_who_reads(path: str) -> None:
    ledger = Ledger(path)
    ledger.note("a", "reported")
    ledger.close()
    with open(path, "ab") as file:
        file.write(b'{"node":"b","st')
    assert set(read(path)) == {"a"}
    assert Path(path).read_bytes().endswith(b'"st')
    ledger = Ledger(path)
    ledger.note("c", "reported")
    ledger.close()
    assert set(read(path)) == {"a", "c"}


DEEP = '{"x":' + "[" * 100_000 + "\n"


@pytest.mark.parametrize(
    "text", ["nothing\n", '{"node":"a"}\n', '{"node":"a","state":"sleeping"}\n', "\n", '"\xff"\n', "[]\n", DEEP]
)
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_is(path: str, text: str) -> None:
    Path(path).write_bytes(text.encode("latin-1"))
    for opened in (Ledger, read):
        with pytest.raises(LedgerError, match=r"is not a ledger: line 1 does not belong in one\.$"):
            opened(path)
    assert Path(path).read_bytes() == text.encode("latin-1")


def test_no_ledger_yet(path: str) -> None:
    assert read(path) == {}


def test_where_nothing_can_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"cannot be written: No such file or directory\.$"):
        Ledger(str(tmp_path / "none" / "ledger.jsonl"))
    with pytest.raises(LedgerError, match=r"cannot be read: Is a directory\.$"):
        read(str(tmp_path))


def test_no_link_is_followed(path: str, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    Path(path).symlink_to(tmp_path / "mine")
    with pytest.raises(LedgerError, match=r"cannot be written: .+\.$"):
        Ledger(path)


@limited(resource.RLIMIT_FSIZE, 300)
def test_a_full_disk_leaves_whole_lines(path: str) -> None:
    ledger = Ledger(path)

    def fill() -> None:
        for number in range(20):
            ledger.note(f"node{number}", "unreachable", "No route to host.")

    with pytest.raises(LedgerError, match=r"cannot be written: "):
        fill()
    reported = dict(ledger.entries)
    ledger.close()
    assert 0 < len(reported) < 20
    assert read(path) == reported
    assert Path(path).read_bytes().endswith(b"}\n")


def test_words_that_are_no_text(path: str) -> None:
    ledger = Ledger(path)
    ledger.note("a", "failed", "caf\udce9 \x1b[31m")
    ledger.close()
    assert read(path)["a"].why == "caf\\udce9 \x1b[31m"
