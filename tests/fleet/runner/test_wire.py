"""Reports survive launchers that label, mix, repeat and cut lines, or they do not land at all."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.protocol import Assembler, Hello, Landed

NODES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
# Whatever a launcher, a shell or a driver may write beside: a label, colours, a greeting.
NOISE = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30).filter(
    lambda text: "gpudoctor-fleet" not in text
)


def fed(lines: list[str], assembler: Assembler | None = None) -> list[Hello | Landed]:
    """What these lines complete."""
    assembler = assembler or Assembler()
    return [found for line in lines if (found := assembler.feed(line)) is not None]


@given(st.dictionaries(NODES, st.binary(max_size=3000), min_size=1, max_size=5), st.randoms(), NOISE, st.booleans())
def test_mixed_labelled_and_repeated_lines_give_each_report_once(
    reports: dict[str, bytes], order: random.Random, noise: str, twice: bool
) -> None:
    lines = [line for node, data in reports.items() for line in protocol.lines(node, data)]
    order.shuffle(lines)
    if twice:
        lines += lines[:-1]  # what came again does not make another report, unless it is whole
    labelled = [text for line in lines for text in (noise, f"{noise}{line}  \r")]
    landed = {found.node: found.data for found in fed(labelled) if isinstance(found, Landed)}
    assert landed == reports


@given(st.binary(min_size=1, max_size=5000), st.integers(0, 10_000), st.integers(0, 2000))
def test_a_line_that_was_cut_never_gives_half_a_report(data: bytes, which: int, at: int) -> None:
    assembler = Assembler()
    lines = list(protocol.lines("a", data))
    whole = lines[which % len(lines)]
    lines[which % len(lines)] = whole[: at % len(whole)]
    found = fed(lines, assembler)  # a checksum of zlib's that is cut off costs nothing: ours is the one that counts
    found += fed(list(protocol.lines("a", data)), assembler)
    assert found
    assert all(one == Landed("a", data) for one in found)


@given(st.lists(st.text(max_size=200), max_size=20))
@settings(max_examples=200)
def test_noise_alone_gives_nothing(lines: list[str]) -> None:
    assert [found for found in fed(lines) if isinstance(found, Landed)] == []


def test_a_hello() -> None:
    assert fed([protocol.hello("node03")]) == [Hello("node03")]
    assert fed(["2: " + protocol.hello("a b/ü")]) == [Hello("a b/ü")]
    assert " " not in protocol.hello("a b\nc").split(" ", 1)[1].removesuffix(" hello")


def test_a_line_that_runs_into_the_next_one_costs_only_itself() -> None:
    first, second = protocol.hello("a"), protocol.hello("b")
    assert fed([first[:-3] + second]) == [Hello("b")]


def test_where_the_node_is_known_nobody_speaks_for_another() -> None:
    assembler = Assembler()
    assert assembler.feed(protocol.hello("b"), "a") == Hello("a")
    found = [assembler.feed(line, "a") for line in protocol.lines("b", b"{}")]
    assert found == [Landed("a", b"{}")]


def test_hosts_of_one_name_are_told_apart_where_their_lines_are() -> None:
    assembler = Assembler()
    data = os.urandom(5000)
    pairs = zip(protocol.lines("localhost", data), protocol.lines("localhost", data), strict=True)
    found = [assembler.feed(line, node) for pair in pairs for line, node in zip(pair, ("a", "b"), strict=True)]
    assert [one for one in found if one] == [Landed("a", data), Landed("b", data)]


def test_a_node_that_was_started_twice_sends_two_reports_and_one_is_enough() -> None:
    one, other = os.urandom(3000), os.urandom(3000)
    lines = [line for pair in zip(protocol.lines("a", one), protocol.lines("a", other), strict=True) for line in pair]
    landed = [found for found in fed(lines) if isinstance(found, Landed)]
    assert landed
    assert landed[0].data == one


def test_what_others_send_is_not_kept() -> None:
    assembler = Assembler(frozenset(["a"]))
    assert fed([protocol.hello("b"), *protocol.lines("b", b"{}"), *protocol.lines("a", b"{}")], assembler) == [
        Landed("a", b"{}")
    ]
    assert not assembler.half("b")


def test_halves_are_known() -> None:
    assembler = Assembler()
    lines = list(protocol.lines("a", os.urandom(3000)))
    fed(lines[:-1], assembler)
    assert assembler.half("a")
    assembler.forget("a")
    assert not assembler.half("a")
    fed([*lines[:-1], lines[-1][:-9]], assembler)
    assert assembler.half("a")  # all parts came, and do not fit together
    assert not assembler.half("b")


@pytest.mark.parametrize(
    "line",
    [
        "gpudoctor-fleet/1 a 0/1 0123456789abcdef eJw=",
        "gpudoctor-fleet/1 a 2/1 0123456789abcdef eJw=",
        "gpudoctor-fleet/1 a 1/1 0123456789abcdef eJw=",
        "gpudoctor-fleet/1 a 1/1 0123456789abcdef !!!!",
        "gpudoctor-fleet/1 a 1/1 short eJw=",
        "gpudoctor-fleet/1 a 1/999999 0123456789abcdef eJw=",
        "gpudoctor-fleet/1 a 1/2 0123456789abcdef " + "A" * 5000,
        "gpudoctor-fleet/2 a hello",
        "gpudoctor-fleet/1 a hello there",
    ],
)
def test_lines_that_are_none(line: str) -> None:
    assert fed([line]) == []


def test_nobody_fills_our_memory() -> None:
    bomb = list(protocol.lines("a", b"0" * (protocol.MOST + 1)))
    assert fed(bomb) == []
    assembler = Assembler()
    for number in range(1000):
        assembler.feed(f"gpudoctor-fleet/1 a 1/2 {number:016x} AAAA")
    assert sum(map(len, assembler._parts["a"].values())) < 10


def test_a_line_is_one_write_to_a_pipe() -> None:
    longest = max(map(len, protocol.lines("n" * 60 + "é" * 60, os.urandom(100_000))))
    assert longest < 4096 - 1  # PIPE_BUF, with the end of the line
