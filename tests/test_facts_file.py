"""Facts files: what is written is read back, and nothing else is."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import LIMIT, FactsFileError, load, read, whole, write
from gpudoctor.report.build import build
from gpudoctor.report.renderers.json import render as as_json
from gpudoctor.report.renderers.text import render as as_text
from tests.builders import framework, nvidia_host, with_framework

GOOD = msgspec.json.encode(with_framework(framework()))


def test_round_trip() -> None:
    assert load(GOOD) == with_framework(framework())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not valid"),
        (b"{", "is not valid"),
        (b"[]", "is not valid"),
        (b"{}", "has the schema ''"),
        (b'{"schema": "gpudoctor.facts/9"}', "has the schema 'gpudoctor.facts/9'"),
        (b'{"schema": "gpudoctor.facts/1", "gpus": 3}', "is not valid"),
        (b'{"schema": "gpudoctor.facts/1", "gpus": [{"vendor": "nvidia", "index": "x"}]}', "is not valid"),
        (b'{"schema": "gpudoctor.facts/1", "host": {"memory": {"unknown": 3}}}', "is not valid"),
        (b"\xff\xfe\x00", "is not valid"),
        (b"[" * 200_000, "is not valid"),
    ],
)
def test_what_is_no_facts_file_is_told_in_one_sentence(data: bytes, words: str) -> None:
    with pytest.raises(FactsFileError) as caught:
        load(data)
    text = str(caught.value)
    assert words in text
    assert text.endswith(".")
    assert "\n" not in text


def test_missing_closed_and_too_large_files(tmp_path: Path) -> None:
    with pytest.raises(FactsFileError, match="No such file"):
        read(str(tmp_path / "none.json"))
    with pytest.raises(FactsFileError, match="Is a directory"):
        read(str(tmp_path))
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(LIMIT + 1)
    with pytest.raises(FactsFileError, match="larger than 32 MiB"):
        read(str(large))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "facts.json"
    write(str(target), GOOD)
    assert target.read_bytes() == GOOD
    with pytest.raises(OSError, match="No such file"):
        write(str(tmp_path / "none" / "facts.json"), GOOD)
    assert [p.name for p in tmp_path.iterdir()] == ["facts.json"]


def test_what_a_killed_process_of_the_same_number_left_behind_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f"facts.json.{os.getpid()}.part").write_text("{")
    for _ in range(2):
        write(str(tmp_path / "facts.json"), GOOD)
    assert (tmp_path / "facts.json").read_bytes() == GOOD


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_whatever_ends_the_writing_leaves_what_was_there(tmp_path: Path, end: type[BaseException]) -> None:
    write(str(tmp_path / "facts.json"), GOOD)

    def ended() -> None:
        with whole(str(tmp_path / "facts.json")) as file:
            file.write(b"{")
            raise end

    with pytest.raises(end):
        ended()
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("facts.json", GOOD)]


def _leaves(node: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    if isinstance(node, dict):
        return [leaf for key, one in node.items() for leaf in _leaves(one, (*path, key))]
    if isinstance(node, list):
        return [leaf for i, one in enumerate(node) for leaf in _leaves(one, (*path, i))] or [path]
    return [path]


TREE = json.loads(GOOD)
LEAVES = _leaves(TREE)
NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40),
    st.sampled_from(["\x1b[31m", "\x9b31m", "[bold]x[/bold]", "\u202eabc", "a" * 10_000, "\x00", "\ud7ff", "\x07"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    st.just({"unknown": "\x1b]0;title\x07"}),
)
# What a terminal must never get: C0 without newline and tab, DEL, C1, and marks that turn the direction.
RAW = {chr(c) for c in [*range(9), *range(11, 32), 127, *range(128, 160)]} | set("\u202a\u202b\u202d\u202e\u2066\u2067")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(LEAVES), NASTY), min_size=1, max_size=4))
def test_fuzzed_facts_are_refused_or_shown_harmlessly(changes: list[tuple[tuple[object, ...], object]]) -> None:
    from gpudoctor.pipeline import judged

    tree = json.loads(GOOD)
    for path, value in changes:
        node = tree
        try:
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = value
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change took this place away
    try:
        facts = load(json.dumps(tree).encode())
    except FactsFileError:
        return
    report = build(facts, judged(facts))
    assert report.summary.broken == 0, [u for u in report.unknown if u.broken]
    for text in (as_text(report, verbose=True), as_json(report)):
        assert not RAW & set(text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(FactsFileError):
        load(data)


def test_a_facts_file_of_a_newer_minor_with_unknown_fields_is_read() -> None:
    tree = json.loads(msgspec.json.encode(nvidia_host()))
    tree["new_in_a_later_version"] = 1
    assert load(json.dumps(tree).encode()) == nvidia_host()
    assert isinstance(load(json.dumps(tree).encode()), Facts)
