"""A report lands whole, at its own place, and only if it is one."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.fleet.runner.report_store import NoReportError, checked, file_name, land, landed, node_name, too_long
from tests.fleet.runner.kit import report


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("node03", "node03.json"),
        ("gpu-1.cluster.example", "gpu-1.cluster.example.json"),
        ("10.0.0.1", "10.0.0.1.json"),
        ("fe80::1", "fe80::1.json"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.json"),
        ("/etc/passwd", "%2Fetc%2Fpasswd.json"),
        ("..", "%2E..json"),
        (".hidden", "%2Ehidden.json"),
        ("a b\n", "a%20b%0A.json"),
        ("100%", "100%25.json"),
        ("é", "%C3%A9.json"),
        ("\udcff", "%FF.json"),
        ("a\0", "a%00.json"),
        ("a.json", "a%2Ejson.json"),
        (".json", "%2Ejson.json"),
    ],
)
def test_the_name_of_a_file(node: str, name: str) -> None:
    assert file_name(node) == name
    assert node_name(name) == node_name(name.removesuffix(".json")) == node


@given(st.text(st.characters(codec="utf-8")))
def test_no_name_leads_elsewhere_and_each_comes_back(node: str) -> None:
    name = file_name(node)
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith(".") or node == ""
    assert os.path.basename(os.path.normpath(f"/reports/{name}")) == name
    assert node_name(name) == node_name(name.removesuffix(".json")) == node


def test_a_report_lands_on_one_line_and_nothing_beside_it(tmp_path: Path) -> None:
    pretty = json.dumps(json.loads(report(gpus=[1, 2])), indent=2).encode()
    land(str(tmp_path), "../a", pretty)
    assert [file.name for file in tmp_path.iterdir()] == ["%2E.%2Fa.json"]
    assert (tmp_path / "%2E.%2Fa.json").read_bytes() == report(gpus=[1, 2])
    assert landed(str(tmp_path), "../a")
    assert not landed(str(tmp_path), "a")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "What it sent is not a report: "),
        (b"[]", "What it sent is not a report: "),
        (report()[:-1], "What it sent is not a report: "),
        (report() + b"x", "What it sent is not a report: "),
        (report().replace(b"pass", b"\xff"), "What it sent is not a report: "),
        (report(x="A").replace(b'"A"', b'"\xff"'), "What it sent is not a report: "),
        (b'{"schema":"gpudoctor.facts/1","status":"pass"}', "has the schema 'gpudoctor.facts/1'"),
        (b'{"schema":"gpudoctor.report/2","status":"pass"}', "has the schema 'gpudoctor.report/2'"),
        (b"{}", "has the schema ''"),
        (b'{"schema":3}', "What it sent is not a report: "),
        (b'{"schema":"gpudoctor.report/1","status":"pass","x":' + b"[" * 100_000, "What it sent is not a report: "),
    ],
)
def test_what_is_no_report_does_not_land(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(NoReportError, match=r"\.$") as caught:
        land(str(tmp_path), "a", data)
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_somebody_broke_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(report()[:-5])
    (tmp_path / "b.json").mkdir()
    assert not landed(str(tmp_path), "a")
    assert not landed(str(tmp_path), "b")


def test_a_newer_gpudoctor_may_say_more() -> None:
    assert checked(report(novelty={"a": 1})) == report(novelty={"a": 1})


def test_names_that_no_file_can_have() -> None:
    assert too_long("n" * 300)
    assert too_long("é" * 60)
    assert too_long("")
    assert not too_long("n" * 190)
