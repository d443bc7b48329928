"""The summary as a whole: states, groups, what is missing; and that neither order nor file changes it."""

import random
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.aggregate.merge import merge
from gpudoctor.fleet.aggregate.report_sources import Sources
from gpudoctor.fleet.aggregate.streaming import summed
from gpudoctor.report.inventory import Inventory
from gpudoctor.report.model import FindingEntry, GpuEntry, Report, SmokeEntry
from gpudoctor.report.renderers.json import render
from tests.fleet.aggregate.reports import PYTHON, Given, finding, fleet, gpus, lay, measured, named, report


def test_states_and_counts() -> None:
    found = fleet(
        {
            "n1": report(),
            "n2": report(status="warn", findings=[finding()]),
            "n3": report(),
            "n4": report(status="incomplete"),
            "n5": b"{",
            "n6": report(status="fail", findings=[finding(status="fail")]),
        }
    )
    assert list(found.states.items()) == [
        ("fail", "n6"), ("incomplete", "n4"), ("unreadable", "n5"), ("warn", "n2"), ("pass", "n[1,3]"),
    ]  # fmt: skip
    assert found.counts == {"fail": 1, "incomplete": 1, "unreadable": 1, "warn": 1, "pass": 2}
    assert found.total == 6
    assert [(one.state, one.nodes, one.count) for one in found.missing] == [
        ("incomplete", "n4", 1), ("unreadable", "n5", 1),
    ]  # fmt: skip


def test_when_the_reports_were_made() -> None:
    days = [f"2026-11-{day:02d}T00:00:00Z" for day in (2, 1, 3)]
    found = fleet(named(report(created=created) for created in (*days, "", "yesterday", "9", "x" * 100)))
    assert (found.oldest, found.newest, found.created) == (days[1], days[2], "now")


def test_nobody_reported() -> None:
    assert fleet({}).total == 0


def test_the_ledger_accounts_for_those_that_did_not_report(tmp_path: Path) -> None:
    lay(tmp_path / "reports", {"n1": report()})
    lines = [
        '{"node":"n1","state":"timed out","why":"late"}',
        '{"node":"n2","state":"not asked"}',
        '{"node":"n2","state":"unreachable","why":"No route."}',
        '{"node":"n3","state":"unreachable","why":"No route."}',
        '{"node":"n4","state":"reported"}',
        '{"node":"n5","state":"nonsense"}',
        '{"node":"n6","sta',
    ]
    (tmp_path / "ledger.jsonl").write_text("\n".join(lines))
    found = summed(Sources([str(tmp_path)]))
    assert found.states == {"failed": "n4", "unreachable": "n[2-3]", "pass": "n1"}
    assert [(one.state, one.why, one.nodes, one.count) for one in found.missing] == [
        ("failed", "The ledger lists its report as received, but the file is missing.", "n4", 1),
        ("unreachable", "No route.", "n[2-3]", 2),
    ]
    assert any("fleet run" in one and "3 without" in one for one in found.next)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'{"schema":"gpudoctor.report/1","status":"pass","findings":[{"check":1}]}',
        b'{"schema":"gpudoctor.report/1","status":"pass","findings":{}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","smoke":[{"backend":"pytorch"}]}',
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"machine":{"a":[]}}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"gpus":[1]}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"packages":{"p":1}}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"packages":{"p":{"a":"\xff"}}}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","gpus":[{}]}',
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"machine":{"host.memory":1' + b"0" * 400 + b"}}}",
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"machine":{"a":-1e300}}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","inventory":{"gpus":[{"memory":1e300}]}}',
        b'{"schema":"gpudoctor.report/1","status":"pass","smoke":[{"backend":"a","device":"b","tests":[{"test":"c",'
        b'"figures":[{"name":"d","value":1e300}]}]}]}',
    ],
)
def test_a_broken_report_is_one_node_and_leaves_nothing(data: bytes) -> None:
    found = fleet({"n1": report(), "n2": data, "n3": report()})
    assert found.states == {"unreadable": "n2", "pass": "n[1,3]"}
    assert [(one.nodes, one.why[:20]) for one in found.missing] == [("n2", "It is not a report: ")]
    assert (found.causes, found.drifts, found.spreads) == ((), (), ())


def test_a_report_with_too_many_packages_is_none() -> None:
    packages = {PYTHON: {f"p{number}": "1" for number in range(6000)}}
    assert fleet({"n1": report(packages=packages)}).counts == {"unreadable": 1}


def test_a_report_of_an_older_release_has_its_gpus_from_what_people_read() -> None:
    one = Report(status="pass", gpus=(GpuEntry(index=0, vendor="nvidia", name="NVIDIA A100", status="ok"),))
    assert [group.hardware for group in fleet({"n1": one}).groups] == ["1 x NVIDIA A100"]


def _lacking(inventory: Inventory, smoke: tuple[SmokeEntry, ...]) -> tuple[FindingEntry, ...]:
    if inventory.machine["nvidia.kernel.loaded"] == "570":
        return (finding("expect.nvidia", "fail", fix="Install 580."),)
    return (finding("expect.smoke", "warn"),) if smoke else ()


def test_a_fleet_is_held_against_expectations() -> None:
    old, slow = {"nvidia.kernel.loaded": "570"}, measured(1.0)
    asked: list[Inventory] = []

    def hold(inventory: Inventory, smoke: tuple[SmokeEntry, ...], failed: frozenset[str]) -> tuple[FindingEntry, ...]:
        assert not failed
        asked.append(inventory)
        return _lacking(inventory, smoke)

    given = named(
        [report(), report(), report(machine=old), report(machine=old, status="warn"), report(smoke=slow),
         report(smoke=slow, status="fail"), report(status="incomplete", smoke=slow)]
    )  # fmt: skip
    found = summed(Given(given), hold=hold)
    assert found.states == {"fail": "n[3-4,6]", "incomplete": "n7", "warn": "n5", "pass": "n[1-2]"}
    assert [(one.check, one.nodes) for one in found.causes] == [("expect.nvidia", "n[3-4]"), ("expect.smoke", "n[5-7]")]
    assert len(asked) == 5, "nodes that say the same are held once"
    assert asked[0] == report().inventory


def test_somebody_is_told_how_far_it_is() -> None:
    reported: list[int] = []
    summed(Given({f"n{number}": report() for number in range(600)}), tell=reported.append)
    assert reported == [256, 512]


_REPORTS = st.builds(
    report,
    status=st.sampled_from(["pass", "warn", "fail"]),
    created=st.sampled_from(["2026-01", "2026-02"]),
    machine=st.fixed_dictionaries(
        {},
        optional={
            "nvidia.kernel.loaded": st.sampled_from(["570", None, "580"]),
            "host.memory": st.integers(1 << 40, 1 << 41),
        },
    ),
    listed=st.sampled_from([gpus(), gpus(7), gpus(odd={"vbios": "97"}), (), gpus(name="A100")]),
    packages=st.dictionaries(
        st.sampled_from([PYTHON, "/home/a/bin/python"]),
        st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3), max_size=2,
    ),
    findings=st.lists(
        st.builds(finding, check=st.sampled_from("xy"), status=st.sampled_from(["fail", "warn"]),
                  subject=st.sampled_from(["GPU 0", "GPU 1"])), max_size=3,
    ),
    smoke=st.lists(st.sampled_from([1.0, 1.01, 0.5]), max_size=8).map(lambda values: measured(*values)),
)  # fmt: skip
_FLEETS = st.lists(st.one_of(_REPORTS, _REPORTS, _REPORTS, st.just(b"{")), max_size=12).map(lambda some: named(some))


@given(_FLEETS, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_changes_nothing(reports: dict[str, Report | bytes], dice: random.Random) -> None:
    shuffled = list(reports.items())
    dice.shuffle(shuffled)
    assert fleet(dict(shuffled)) == fleet(reports)


@given(_FLEETS.filter(lambda reports: any(isinstance(one, Report) for one in reports.values())))
@settings(max_examples=40, deadline=None)
def test_a_merged_file_says_the_same(reports: dict[str, Report | bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        texts = {
            name: one if isinstance(one, bytes) else render(one).encode() if at % 2 else msgspec.json.encode(one)
            for at, (name, one) in enumerate(reports.items())
        }
        lay(Path(folder) / "shared", texts)
        merged = merge(Sources([f"{folder}/shared"]), f"{folder}/x.jsonl")
        found = summed(Sources([f"{folder}/x.jsonl"]), created="now")
    well = {name: one for name, one in reports.items() if isinstance(one, Report)}
    assert found == fleet(reports)  # also of those without a report
    assert merged.nodes == len(well)
    assert sum(one.count for one in merged.left_out) == len(reports) - len(well)
