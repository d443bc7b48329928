"""JSON, CSV, Parquet and Prometheus, each as its own reader takes it, and with strings made to break it."""

import csv
import io
import random
import re
from typing import Any

import msgspec
import pyarrow.parquet
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.nodesets import natural, sortable
from gpudoctor.fleet.renderers import csv as table
from gpudoctor.fleet.renderers import json, parquet, prometheus
from gpudoctor.fleet.renderers.formats import FORMATS
from gpudoctor.fleet.renderers.nodes import nodes
from gpudoctor.fleet.renderers.rows import NodeRow
from gpudoctor.fleet.summary import STATES, Cause, Fleet
from tests.fleet.fleets import EMPTY, FLEETS, H100, large

EVERY = pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS.keys())


def read_csv(fleet: Fleet) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.render(fleet))))


def read_parquet(fleet: Fleet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyarrow.parquet.read_table(io.BytesIO(parquet.render(fleet))).to_pylist()
    return found


@EVERY
def test_json_gives_the_summary_back(fleet: Fleet) -> None:
    text = json.render(fleet)
    assert text.endswith("}\n")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
    if fleet is not FLEETS["hostile"]:  # a lone surrogate and an endless number have no counterpart in JSON
        assert msgspec.json.decode(text, type=Fleet) == fleet


@EVERY
def test_a_row_a_node(fleet: Fleet) -> None:
    rows, same = read_csv(fleet), read_parquet(fleet)
    assert len(rows) == len(same) == len(list(nodes(fleet)))
    for row, other in zip(rows, same, strict=True):
        assert list(row) == list(NodeRow._fields) == list(other)
        for name, value in other.items():
            joined = value if isinstance(value, str) else "; ".join(value)
            assert row[name].removeprefix("'") == joined.removeprefix("'")
    assert table.render(fleet).count("\n") == len(rows) + 1  # a line a row: tools that read lines may


def test_the_rows_of_a_large_fleet() -> None:
    rows = {row["node"]: row for row in read_csv(FLEETS["large"])}
    assert list(rows)[:2] == ["node0001", "node0002"]
    assert len(rows) == 1000
    assert rows["node0014"] | {"titles": ""} == {
        "node": "node0014",
        "state": "fail",
        "why": "",
        "hardware": H100,
        "causes": "link.narrow-pcie; health.ecc-uncorrected",
        "titles": "",
        "drift": "",
        "outliers": "",
        "targets": "link.narrow-pcie: GPU 3 at 0000:3b:00.0, GPU 4 at 0000:4b:00.0, GPU 5 at 0000:5b:00.0; "
        "health.ecc-uncorrected: GPU 5",
        "messages": "link.narrow-pcie: GPU 3 at 0000:3b:00.0: GPU 3 has 4 of 16 lanes. Also GPU 4 at 0000:4b:00.0, "
        "GPU 5 at 0000:5b:00.0.",
    }
    assert rows["node0012"]["targets"] == "link.narrow-pcie: GPU 3 at 0000:3b:00.0"
    assert rows["node0013"]["targets"] == "link.narrow-pcie: GPU 4 at 0000:4b:00.0"
    assert rows["node0005"]["drift"] == "nvidia.kernel.loaded = 570.172.08"
    assert rows["node0017"]["outliers"].startswith("GPU 3 pytorch.transfer.h2d pinned = 13.1 GB/s; GPU 4 ")
    assert rows["node0010"]["why"].startswith("It did not finish within 150 s")
    (ill,) = (row for row in read_parquet(FLEETS["large"]) if row["node"] == "node0014")
    assert ill["causes"] == ["link.narrow-pcie", "health.ecc-uncorrected"]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_no_cell_is_a_formula(sign: str) -> None:
    name = f"{sign}HYPERLINK(1)"
    fleet = Fleet(total=1, states={"fail": name}, counts={"fail": 1})
    assert read_csv(fleet)[0]["node"] == f"'{name}"
    assert read_parquet(fleet)[0]["node"] == name


def test_an_empty_parquet_file_has_its_columns() -> None:
    read = pyarrow.parquet.read_table(io.BytesIO(parquet.render(EMPTY)))
    assert read.column_names == list(NodeRow._fields)
    assert read.num_rows == 0


def test_a_parquet_file_of_several_groups_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_parquet(FLEETS["large"])
    monkeypatch.setattr(parquet, "ROWS", 300)
    data = io.BytesIO(parquet.render(FLEETS["large"]))
    assert pyarrow.parquet.ParquetFile(data).metadata.num_row_groups == 4
    assert read_parquet(FLEETS["large"]) == whole


@EVERY
def test_prometheus_is_read_by_its_own_parser(fleet: Fleet) -> None:
    families = list(text_string_to_metric_families(prometheus.render(fleet)))
    samples = [(s.name, tuple(sorted(s.labels.items()))) for family in families for s in family.samples]
    assert len(samples) == len(set(samples)), "a series stands twice"
    assert all(re.fullmatch(r"gpudoctor_fleet_[a-z_]+", family.name) and family.documentation for family in families)
    assert {name for name, labels in samples if "node" in dict(labels)} <= {
        "gpudoctor_fleet_node_state", "gpudoctor_fleet_node_cause",
    }  # fmt: skip
    counted = {s.labels["state"]: s.value for f in families for s in f.samples if s.name == "gpudoctor_fleet_nodes"}
    assert set(STATES) <= set(counted)
    assert sum(counted.values()) == fleet.total


def values(fleet: Fleet, name: str) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(prometheus.render(fleet))
    return {tuple(s.labels.values()): s.value for family in families for s in family.samples if s.name == name}


def test_the_series_of_a_large_fleet() -> None:
    fleet = FLEETS["large"]
    assert values(fleet, "gpudoctor_fleet_cause_nodes")["link.narrow-pcie", "fail"] == 3
    assert values(fleet, "gpudoctor_fleet_drift_nodes")[H100, "gpus.*.vbios"] == 3
    figure = values(fleet, "gpudoctor_fleet_figure")
    assert figure[H100, "pytorch.transfer.h2d pinned", "GB/s", "0.5"] == 54.9
    assert values(fleet, "gpudoctor_fleet_figure_outliers")[H100, "pytorch.transfer.h2d pinned", "GB/s"] == 5
    assert values(fleet, "gpudoctor_fleet_newest_report_timestamp_seconds") == {(): 1795231259.0}


def test_a_node_that_has_a_cause_for_two_reasons_counts_once() -> None:
    def cause(why: str, nodes: str) -> Cause:
        return Cause(check="a.b", status="fail", title="t", cause=why, message="", example="n", nodes=nodes, count=2)

    fleet = Fleet(total=3, causes=(cause("one", "n[1-2]"), cause("other", "n[2-3]")))
    assert values(fleet, "gpudoctor_fleet_cause_nodes") == {("a.b", "fail"): 3}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_writer_and_says_what_is_wrong(name: str) -> None:
    made = list(FORMATS[name].pieces(large(40)))
    assert all(isinstance(piece, bytes) is FORMATS[name].binary for piece in made)
    reported = str(read_parquet(large(40))) if FORMATS[name].binary else "".join(map(str, made))
    assert "narrow-pcie" in reported


def test_nodes_stand_in_natural_order() -> None:
    fleet = Fleet(total=4, states={"pass": "n10,n9", "fail": "n2,login"}, counts={"pass": 2, "fail": 2})
    assert [(one.name, one.state) for one in nodes(fleet)] == [
        ("login", "fail"),
        ("n2", "fail"),
        ("n9", "pass"),
        ("n10", "pass"),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_is_that_of_natural(seed: int) -> None:
    dice = random.Random(seed)
    some = {"".join(dice.choices("ab0129-.", k=dice.randrange(1, 9))) for _ in range(2000)}
    assert sorted(some, key=sortable) == sorted(some, key=natural)


def test_a_node_has_each_cause_that_names_it() -> None:
    fleet = FLEETS["large"]
    for node in nodes(fleet):
        having = [one for one in fleet.causes if node.name in unfolded(one.nodes, one.count)]
        assert list(node.causes) == having


def test_an_alert_can_name_the_nodes_that_need_somebody() -> None:
    families = {one.name: one for one in text_string_to_metric_families(prometheus.render(FLEETS["large"]))}
    states = {one.labels["node"]: one.labels["state"] for one in families["gpudoctor_fleet_node_state"].samples}
    assert (states["node0005"], states["node0010"]) == ("fail", "timed out")
    assert "node0001" not in states  # it is healthy
    causes = [one.labels for one in families["gpudoctor_fleet_node_cause"].samples]
    assert {"node": "node0013", "check": "link.narrow-pcie", "status": "fail"} in causes
