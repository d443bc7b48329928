"""Whatever comes, in whatever order: every node is accounted for, and has reported where its report is here."""

import tempfile
from pathlib import Path
from threading import Event

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import NodeLine, Over
from gpudoctor.fleet.runner.ledger import STATES, read
from gpudoctor.fleet.runner.report_store import file_name
from gpudoctor.fleet.runner.tracker import Register
from tests.fleet.runner.kit import Reported, opened, report, targets

NODES = ("a", "b/..", "c")
REPORTS = (report("pass"), report("fail", x="y" * 2000), b"{}", b"nothing")
GOOD = REPORTS[:2]


@st.composite
def told(draw: st.DrawFn) -> list[Reported]:
    """What an engine tells: lines of several nodes mixed, some cut, some of strangers, and ends at any time."""
    found: list[Reported] = []
    for node in draw(st.lists(st.sampled_from((*NODES, "stranger")), max_size=6)):
        known = node if draw(st.booleans()) else ""
        lines = [protocol.hello(node), *protocol.lines(node, draw(st.sampled_from(REPORTS)))]
        cut = draw(st.integers(0, 60))
        found += [NodeLine(known, line[: len(line) - cut]) for line in lines[: draw(st.integers(0, len(lines)))]]
    states = st.sampled_from((*STATES, "nonsense"))
    whys = st.text(max_size=5)
    found += [Over(node, draw(states), draw(whys)) for node in draw(st.lists(st.sampled_from(NODES), max_size=4))]
    return draw(st.permutations(found))


@given(told(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_node_is_accounted_for(things: list[Reported], stopped: bool) -> None:
    with tempfile.TemporaryDirectory() as path:
        folder = opened(Path(path))
        register = Register(folder, targets(*NODES), Event())
        for one in things:
            register.tell(one)
        register.close(stopped)
        standing = register.standing()
        folder.close()
        entries = read(f"{path}/ledger.jsonl")
        assert set(entries) == set(NODES)
        for node, entry in entries.items():
            file = Path(path) / "reports" / file_name(node)
            assert (entry.state == "reported") == file.exists()
            assert (entry.why == "") == (entry.state == "reported")
            assert not file.exists() or file.read_bytes() in GOOD
        assert {file.name for file in (Path(path) / "reports").iterdir()} <= {file_name(node) for node in NODES}
        assert standing.reported + standing.over == standing.total == 3
        # Once for each node, and once more where a report came after its end.
        late = Path(path, "ledger.jsonl").read_bytes().count(b"\n") - 3
        assert late <= standing.reported
