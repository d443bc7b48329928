"""One side of a pair: which node this is, and what its ranks told."""

import json
import socket

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.fleet.runner.pair_node import PairError, PairTask, answer, mine, place, side

NODES = ("node1", "node2.cluster", "node3", "10.0.0.4")


@pytest.mark.parametrize(
    ("names", "ours", "at"),
    [
        (("node3", "x"), "", 2),
        (("", "node2"), "", 1),
        (("node3.cluster.org",), "", 2),
        (("login",), "10.0.0.4", 3),
        (("node1", "node3"), "10.0.0.4", 0),
    ],
)
def test_a_node_finds_itself_by_name_or_else_by_address(names: tuple[str, ...], ours: str, at: int) -> None:
    assert place(NODES, names, lambda name: name == ours) == at


@pytest.mark.parametrize("nodes", [NODES, ("login",)])
def test_who_is_none_of_them_or_alone_cannot_sum(nodes: tuple[str, ...]) -> None:
    with pytest.raises(PairError, match="This node is not one of the pair"):
        place(nodes, ("login",) if len(nodes) == 1 else ("other",), lambda _: False)


def test_which_addresses_are_ours() -> None:
    assert mine("127.0.0.1")
    assert not mine("192.0.2.1")  # RFC 5737: documentation
    assert not mine("no-such-name.invalid")
    assert not mine("")


def _ended(**reported: object) -> ChildResult:
    return ChildResult(argv=("python",), code=0, out=f"[W] something\n\ngpudoctor:{json.dumps(reported)}\n")


def test_the_median_of_the_slowest_rank_counts() -> None:
    ended = [
        (0, _ended(each=[[0.1, 0.2, 0.3], [1.0, 1.0, 1.0]], wrong=1)),
        (1, _ended(each=[[0.3, 0.2, 0.1], [1.0, 5.0, 1.0]], wrong=2)),
    ]
    found = side("n1", "nccl", 4, (10**9, 2 * 10**9), ended)
    assert [size.seconds for size in found.sizes] == [0.3, 1.0]
    assert found.sizes[1].rate == pytest.approx(3.0)  # nccl-tests: 2 GB/s times 2 (4 - 1) / 4
    assert (found.wrong, found.error, found.library, found.ranks) == (3, "", "nccl", 4)


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        (_ended(error="ModuleNotFoundError: No module named 'torch'"), "failed: ModuleNotFoundError: No module named"),
        (ChildResult(argv=(), signal="SIGKILL", timed_out=True, seconds=42.4), "did not finish within 42 s"),
        (ChildResult(argv=(), signal="SIGSEGV", err="Fatal error\n"), "ended with SIGSEGV; Fatal error"),
        (ChildResult(argv=(), code=1, out="gpudoctor:{nonsense\n"), "ended with 1; gpudoctor:{nonsense"),
        (ChildResult(argv=(), missing="No such file or directory"), "could not be started: No such file or directory"),
        (
            ChildResult(argv=(), code=1, out='n1:7 NCCL WARN Net: no route\ngpudoctor:{"error": "timed out"}\n'),
            "failed: timed out; n1:7 NCCL WARN Net: no route",
        ),
    ],
)
def test_how_a_rank_failed(ended: ChildResult, message: str) -> None:
    found = side("n1", "nccl", 4, (8,), [(2, _ended(each=[[1.0]], wrong=0)), (3, ended)])
    assert found.error.startswith(f"rank 3 {message}")
    assert found.sizes == ()


def test_a_neighbour_whose_name_means_nothing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    from gpudoctor.fleet.runner import protocol

    lines: list[str] = []
    answer(PairTask(("n1", "n2"), 0, 29500, 30), "n1", lines.append)
    assembler = protocol.Assembler()
    found = [assembler.feed(line) for line in lines]
    assert found[0] == protocol.Hello("n1")
    assert isinstance(found[-1], protocol.Landed)
    assert json.loads(found[-1].data)["error"].startswith("The name n2 does not resolve here")
