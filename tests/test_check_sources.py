"""Where a check is in the code: no part of the facts that it reads is left out, and each has a probe."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import catalogue, checks
from gpudoctor.check_engine import Check
from gpudoctor.check_sources import rule_files, sources
from gpudoctor.facts import Facts
from gpudoctor.maybe import UnknownFactError
from tests.machines.registry import machines

ROOT = Path(gpudoctor.__file__).parent.parent
CHECKS = catalogue.load(checks.ids())


def test_each_check_has_a_rule_and_probes_that_are_there() -> None:
    for one in CHECKS:
        assert all((ROOT / file).is_file() for file in rule_files(one))
        assert sources(one), one.id
        for modules in sources(one).values():
            assert all(importlib.import_module(module).__doc__ for module in modules)


@pytest.mark.parametrize(
    ("id_", "parts"),
    [
        ("driver.library-mismatch", {"nvidia", "nvidia.kernel"}),
        ("apple.mps-not-built", {"apple", "pythons", "pythons.frameworks"}),
        ("cluster.runtime-not-configured", {"cluster", "containers"}),
        ("smoke.wrong-result", {"smoke"}),
        ("cupy.driver-too-old", {"nvidia", "gpus", "pythons.frameworks"}),
    ],
)
def test_the_parts_that_a_check_reads(id_: str, parts: set[str]) -> None:
    (one,) = catalogue.load([id_])
    assert set(sources(one)) >= parts


def test_no_part_that_a_check_reads_of_a_machine_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()

    def get(facts: Facts, name: str) -> object:
        if name in Facts.__struct_fields__ and not _for_a_fix():
            read.add(name)
        return object.__getattribute__(facts, name)

    every = [machine.make() for machine in machines()]
    monkeypatch.setattr(Facts, "__getattribute__", get, raising=False)
    for one in CHECKS:
        read.clear()
        for facts in every:
            _judge(one, facts)
        assert read <= {part.partition(".")[0] for part in sources(one)}, one.id


def _for_a_fix() -> bool:
    return any(frame.startswith("gpudoctor.fixes") for frame in _modules())


def _modules() -> Iterator[str]:
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame.f_globals["__name__"]


def _judge(one: Check[object], facts: Facts) -> None:
    try:
        for _, subject in one.targets(facts):
            one(subject)
    except UnknownFactError:
        pass
