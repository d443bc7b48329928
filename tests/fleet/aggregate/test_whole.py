"""What is judged over all reports: some nodes next to the others, old reports, CPU nodes, what nobody can compare."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from gpudoctor.fleet.aggregate.report_ages import spelled
from gpudoctor.fleet.aggregate.summarize import together
from gpudoctor.fleet.history import changes, narrowed
from gpudoctor.fleet.renderers.nodes import nodes
from gpudoctor.fleet.renderers.phrases import hardware, uncompared
from gpudoctor.fleet.renderers.verdict import sentence, status
from gpudoctor.fleet.runner.ledger import Ledger
from gpudoctor.fleet.runner.run_directory import LEDGER
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.model import Report, UnknownEntry
from tests.fleet.aggregate.reports import H100, gpus, lay, measured, report

NOW = datetime.now(timezone.utc)


def at(days: float) -> str:
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def series(count: int, **other: Report) -> dict[str, Report]:
    return {**{f"n{number:02d}": report() for number in range(count)}, **other}


# -- some of the nodes ---------------------------------------------------------------------------------------------


def test_a_chosen_node_is_compared_with_all_and_nothing_is_solved(tmp_path: Path) -> None:
    path = str(lay(tmp_path / "reports", series(12, n50=report(listed=gpus(7)))))
    every = together([path])
    some = together([path], only={"n03", "n50"})
    assert (every.states["fail"], some.states) == ("n50", {"fail": "n50", "pass": "n03"})
    assert [(one.check, one.nodes) for one in some.causes] == [("fleet.gpus-missing", "n50")]
    assert changes(narrowed(every, {"n03", "n50"}), some) == ()


def test_drift_and_outliers_of_chosen_nodes_are_from_the_majority_of_all(tmp_path: Path) -> None:
    odd = report(machine={"host.kernel.release": "6.9"}, smoke=measured(10.0))
    usual = [report(machine={"host.kernel.release": "6.8"}, smoke=measured(50.0 + number / 10)) for number in range(9)]
    nodes_ = {**{f"n{number}": one for number, one in enumerate(usual)}, "x1": odd, "x2": odd}
    some = together([str(lay(tmp_path / "reports", nodes_))], only={"n1", "x1"})
    (drift,) = some.drifts
    assert (drift.fact, drift.majority, drift.count, drift.known) == ("host.kernel.release", "6.8", 9, 11)
    assert [(one.value, one.nodes, one.count) for one in drift.departures] == [("6.9", "x1", 1)]
    assert [one.node for one in some.spreads[0].outliers] == ["x1"]
    assert (some.groups[0].nodes, some.groups[0].count, some.spreads[0].count) == ("n1,x1", 2, 11)


def test_where_too_few_reports_are_there_missing_gpus_are_not_solved(tmp_path: Path) -> None:
    reports = series(12, n50=report(listed=gpus(7)))
    before = together([str(lay(tmp_path / "all", reports))])
    now = together([str(lay(tmp_path / "two", {name: reports[name] for name in ("n03", "n50")}))])
    assert uncompared(now) == (
        "missing GPUs cannot be noticed on 2 nodes, n[03,50]: fewer than 4 identical nodes agree on a number of GPUs"
    )
    assert [(one.kind, one.nodes) for one in changes(before, now) if one.nodes == "n50"] == [("fact", "n50")]


# -- nodes of an unknown model, and names without numbers ----------------------------------------------------------


def test_a_gpu_is_missed_also_where_the_firmware_names_no_model(tmp_path: Path) -> None:
    def node(count: int, cpus: int | None = 96) -> Report:
        return report(listed=gpus(count), machine={"host.product": None, "host.cpus": cpus})

    seven = {**{f"n{at}": node(8) for at in range(6)}, "n7": node(7)}
    (cause,) = together([str(lay(tmp_path / "one", seven))]).causes
    assert cause.nodes == "n7"
    assert cause.evidence[0] == "8 GPUs on 6 of 7 nodes of an unknown model with 96 CPUs with names like n7"
    smaller = {**seven, "n7": node(7, 64)}  # made otherwise
    assert together([str(lay(tmp_path / "two", smaller))]).causes == ()
    nothing = {name: node(7 if name == "n7" else 8, None) for name in seven}
    fleet = together([str(lay(tmp_path / "three", nothing))])
    assert fleet.uncompared is not None
    assert (fleet.causes, fleet.uncompared.nodes) == ((), "n[0-5,7]")


def test_names_without_numbers_are_of_one_series(tmp_path: Path) -> None:
    people = {name: report() for name in ("anna", "bert", "carl", "dora")} | {"emil": report(listed=gpus(7))}
    assert [one.nodes for one in together([str(lay(tmp_path / "reports", people))]).causes] == ["emil"]


def test_what_a_scheduler_lists_needs_no_comparison(tmp_path: Path) -> None:
    lay(tmp_path / "reports", {"n1": report(), "n2": report()})
    ledger = Ledger(str(tmp_path / LEDGER))
    for name in ("n1", "n2"):
        ledger.note(name, "reported", gpus=8)
    ledger.close()
    assert together([str(tmp_path)]).uncompared is None


# -- old reports ---------------------------------------------------------------------------------------------------


def test_a_report_a_week_older_than_the_newest_shows_no_healthy_node(tmp_path: Path) -> None:
    old = {"n50": report(created=at(60)), "n51": report(created=at(60), status="fail"), "n52": report(created="")}
    new = {name: report(created=at(1 + number)) for number, name in enumerate(series(5))}
    fleet = together([str(lay(tmp_path / "reports", {**new, **old}))])
    assert fleet.states == {"fail": "n51", "stale": "n50", "pass": "n[00-04,52]"}
    (missing,) = fleet.missing
    assert missing.why == f"Its report is of {at(60)[:10]}, more than 7 days before the newest report."
    fine = msgspec.structs.replace(fleet, counts={"stale": 1, "pass": 6}, total=7)
    assert (status(fine), sentence(fine)) == ("incomplete", "6 of 7 nodes are healthy; 1 has a stale report.")
    assert any("--max-age DURATION" in line for line in fleet.next)


def test_a_clock_that_is_ahead_makes_no_other_report_old(tmp_path: Path) -> None:
    reports = series(5, n50=report(created=at(-3000)))
    assert set(together([str(lay(tmp_path / "reports", reports))]).states) == {"pass"}


def test_with_a_limit_the_age_counts_from_now(tmp_path: Path) -> None:
    path = str(lay(tmp_path / "reports", {f"n{number}": report(created=at(3)) for number in range(5)}))
    assert set(together([path], max_age=timedelta(days=4)).states) == {"pass"}
    fleet = together([path], max_age=timedelta(hours=36))
    assert fleet.states == {"stale": "n[0-4]"}
    assert fleet.missing[0].why.endswith("which is older than 36 hours (--max-age).")
    assert [spelled(timedelta(hours=hours)) for hours in (24, 1, 0.5)] == ["1 day", "1 hour", "30 minutes"]


# -- nodes without a GPU -------------------------------------------------------------------------------------------


def _login(**machine: str) -> Report:
    return report(status="no-gpu", listed=(), machine={"host.product": "Login 1U", **machine})


def _verdict(fleet: Fleet) -> tuple[str, str]:
    return status(fleet), sentence(fleet)


def test_a_login_node_is_not_the_verdict_of_a_fleet(tmp_path: Path) -> None:
    fleet = together([str(lay(tmp_path / "reports", series(9, login1=_login())))])
    assert fleet.states == {"cpu-only": "login1", "pass": "n[00-08]"}
    assert _verdict(fleet) == ("pass", "All 9 nodes with GPUs are healthy; 1 more has none (CPU only).")


def test_a_node_of_an_unknown_model_may_be_one_that_lost_its_gpus(tmp_path: Path) -> None:
    unknown = report(status="no-gpu", listed=(), machine={"host.product": None})
    fleet = together([str(lay(tmp_path / "reports", series(9, gpubox1=unknown)))])
    assert "cpu-only" not in fleet.states


def test_a_node_that_is_like_those_with_gpus_has_lost_its_own(tmp_path: Path) -> None:
    by_name = together([str(lay(tmp_path / "one", series(9, n50=_login())))])
    by_model = together([str(lay(tmp_path / "two", series(9, other=_login(**{"host.product": "Acme 8000"}))))])
    assert [_verdict(one)[0] for one in (by_name, by_model)] == ["no-gpu", "no-gpu"]
    assert by_name.states["no-gpu"] == "n50"


def test_where_no_node_has_a_gpu_that_is_the_verdict(tmp_path: Path) -> None:
    assert _verdict(together([str(lay(tmp_path / "reports", {"login1": _login(), "cpu2": _login()}))]))[0] == "no-gpu"


# -- why a node is incomplete, and how many GPUs it has ------------------------------------------------------------


def test_an_incomplete_node_has_its_reason(tmp_path: Path) -> None:
    unknown = UnknownEntry(
        check="driver.nvml-no-answer", subject="this machine", reason="no response within 10.8 s", essential=True
    )
    hangs = msgspec.structs.replace(report(status="incomplete"), unknown=(unknown,))
    fleet = together([str(lay(tmp_path / "reports", series(5, n50=hangs)))])
    (missing,) = fleet.missing
    assert (missing.state, missing.nodes) == ("incomplete", "n50")
    assert missing.why == "driver.nvml-no-answer: no response within 10.8 s."
    assert not any("retry" in line for line in fleet.next)


def test_a_node_with_fewer_gpus_is_not_counted_as_one_with_all(tmp_path: Path) -> None:
    fleet = together([str(lay(tmp_path / "reports", series(12, n50=report(listed=gpus(7)))))])
    assert hardware(fleet) == [(12, f"8 x {H100}", ""), (1, f"7 x {H100}", "n50")]
    assert {one.name: one.hardware for one in nodes(fleet)}["n50"] == f"7 x {H100}"
