"""The demos: whole, judged as they are meant, and no older than their recipes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor import demo
from gpudoctor.facts.facts_file import FactsFileError
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from gpudoctor.privacy.masks import masked
from gpudoctor.report.sanitize import document
from tests.demo.__main__ import RECIPES
from tests.demo.settled import settled

FIRST = {
    "mismatch": ("fail", "driver.library-mismatch"),
    "cpu-wheel": ("fail", "pytorch.cpu-build"),
    "bad-link": ("warn", "smoke.link-trained-down"),
}


def test_there_is_a_recipe_for_each_and_each_is_known() -> None:
    files = {path.stem for path in Path(demo.__file__).parent.glob("*.json")}
    assert files == set(demo.DEMOS) == set(RECIPES) == set(FIRST)


@pytest.mark.parametrize("name", demo.DEMOS)
def test_each_is_what_its_recipe_makes(name: str) -> None:
    written = (Path(demo.__file__).parent / f"{name}.json").read_text(encoding="utf-8")
    assert written == document(masked(settled(RECIPES[name]()))), "run `python -m tests.demo`"


@pytest.mark.parametrize("name", demo.DEMOS)
def test_each_has_one_root_cause(name: str) -> None:
    report = check(facts=demo.load(name))
    assert [(one.status, one.check) for one in report.findings] == [FIRST[name]]
    assert report.findings[0].fixes
    assert report.summary.broken == 0


def test_what_follows_from_the_mismatch_stands_under_it() -> None:
    report = check(facts=demo.load("mismatch"))
    assert {one.check for one in report.findings[0].consequences} == {
        "driver.cuda-error",
        "driver.nvml-error",
        "pytorch.no-gpu",
    }


@pytest.mark.parametrize("name", demo.DEMOS)
def test_each_is_masked_and_nothing_in_it_was_forgotten(name: str) -> None:
    facts = demo.load(name)
    assert masked(facts) == facts
    assert [path for path, why in _unknown(facts, "facts") if not why] == []


def _unknown(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every unknown fact, and why."""
    if isinstance(node, Unknown):
        yield path, node.unknown
    elif isinstance(node, tuple):
        for number, one in enumerate(node):
            yield from _unknown(one, f"{path}.{number}")
    elif isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            yield from _unknown(getattr(node, name), f"{path}.{name}")


def test_the_node_tells_the_bad_card_by_its_copies_alone() -> None:
    facts = demo.load("bad-link")
    rates = [run.tests[6].figure("h2d pinned") for run in facts.smoke.runs]
    assert [rate is not None and rate < 14 for rate in rates] == [index == 5 for index in range(8)]
    products = [run.tests[3].figure("rate") or 0 for run in facts.smoke.runs]
    assert max(products) / min(products) < 1.05


def test_a_demo_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        demo.load("../../etc/passwd")


def test_a_demo_is_read_as_strictly_as_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mismatch.json").write_text("{}")
    monkeypatch.setattr(demo, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(FactsFileError):
        demo.load("mismatch")
