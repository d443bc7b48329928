"""The table of rules: none is dead, and what differs by nature is no difference."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec
import pytest
from msgspec import inspect

from gpudoctor.comparison.keyed import SPECIAL
from gpudoctor.comparison.model import DifferenceGroup
from gpudoctor.comparison.rules import FACTS, REPORT, ComparisonRule, rule_of
from gpudoctor.facts import Facts
from gpudoctor.report.model import Report

Path = tuple[str, ...]


def places(of: inspect.Type, path: Path = ()) -> Iterator[Path]:
    """Every place that a tree of this type can have; `*` stands for a name that the data bring."""
    yield path
    if isinstance(of, inspect.StructType):
        for field in of.fields:
            yield from places(field.type, (*path, field.encode_name))
    elif isinstance(of, inspect.UnionType):
        for one in of.types:
            yield from places(one, path)
    elif isinstance(of, inspect.VarTupleType):
        yield from named(of.item_type, path)
    elif isinstance(of, inspect.DictType):
        yield from places(of.value_type, (*path, "*"))


def named(of: inspect.Type, path: Path) -> Iterator[Path]:
    if path[-1] in SPECIAL or isinstance(of, inspect.TupleType):
        yield (*path, "*")
    elif isinstance(of, (inspect.StructType, inspect.DictType)):
        yield from places(of, (*path, "*"))


def about(rule: ComparisonRule, path: Path) -> bool:
    names = rule.path.split(".")
    if names[-1] == "**":
        names, path = names[:-1], path[: len(names) - 1]
    return len(names) == len(path) and all(p == "*" or fnmatchcase(p, n) for p, n in zip(path, names, strict=True))


@pytest.mark.parametrize(("table", "root"), [(FACTS, Facts), (REPORT, Report)], ids=["facts", "report"])
def test_every_rule_is_about_a_place_that_there_is(
    table: tuple[ComparisonRule, ...], root: type[msgspec.Struct]
) -> None:
    there = set(places(inspect.type_info(root)))
    assert len(there) > 50
    assert [rule.path for rule in table if not any(about(rule, path) for path in there)] == []


@pytest.mark.parametrize("table", [FACTS, REPORT], ids=["facts", "report"])
def test_no_rule_hides_behind_an_earlier_one(table: tuple[ComparisonRule, ...]) -> None:
    plain = [rule for rule in table if not any(mark in rule.path for mark in "*?")]
    assert [rule.path for rule in plain if rule_of(table, tuple(rule.path.split("."))) is not rule] == []


@pytest.mark.parametrize(
    "path",
    [
        "created",
        "seconds",
        "host.hostname",
        "host.memory_available",
        "gpus.0.serial",
        "gpus.0.temperature",
        "gpus.0.utilization",
        "gpus.0.power",
        "gpus.0.processes",
        "gpus.0.processes.4711.memory",
        "pythons.1.startup",
        "cluster.job",
        "smoke.runs.pytorch GPU 0.tests.matmul bf16.notes.worst_row",
        "smoke.runs.pytorch GPU 0.import_seconds",
    ],
)
def test_what_differs_by_nature_is_none(path: str) -> None:
    assert rule_of(FACTS, tuple(path.split("."))).group is None


@pytest.mark.parametrize(
    ("path", "group"),
    [
        (("nvidia", "kernel", "loaded"), DifferenceGroup.DRIVER),
        (("host", "kernel", "release"), DifferenceGroup.DRIVER),
        (("log", "events", "xid 79"), DifferenceGroup.DRIVER),
        (("gpus", "3", "vbios"), DifferenceGroup.FIRMWARE),
        (("nvidia", "cuda", "version"), DifferenceGroup.VERSIONS),
        (("pythons", "1", "frameworks", "torch", "live", "cudnn"), DifferenceGroup.VERSIONS),
        (("pythons", "1", "packages", "nvidia-cudnn-cu12", "version"), DifferenceGroup.VERSIONS),
        (("pythons", "1", "packages", "requests", "version"), DifferenceGroup.REST),
        (("nvidia", "nvml", "count"), DifferenceGroup.MACHINE),
        (("gpus", "3"), DifferenceGroup.MACHINE),
        (("gpus", "3", "name"), DifferenceGroup.MACHINE),
        (("gpus", "3", "link_width"), DifferenceGroup.GPUS),
        (("gpus", "3", "link_generation_max"), DifferenceGroup.GPUS),
        (("gpus", "3", "memory"), DifferenceGroup.GPUS),
        (("cloud", "instance"), DifferenceGroup.MACHINE),
        (("wsl", "gpu"), DifferenceGroup.DRIVER),
        (("gpus", "3", "sm_clock_max"), DifferenceGroup.SETTINGS),
        (("gpus", "3", "ecc"), DifferenceGroup.SETTINGS),
        (("gpus", "3", "persistence"), DifferenceGroup.SETTINGS),
        (("host", "environment", "CUDA_VISIBLE_DEVICES"), DifferenceGroup.ENVIRONMENT),
        (("host", "environment", "PATH"), DifferenceGroup.REST),
        (("smoke", "runs", "pytorch GPU 0", "tests", "matmul bf16", "figures", "rate"), DifferenceGroup.MEASURED),
        (("toolkits", "cxx"), DifferenceGroup.REST),
    ],
)
def test_what_matters_how_much(path: Path, group: DifferenceGroup) -> None:
    assert rule_of(FACTS, path).group is group


def test_a_name_with_dots_is_one_name() -> None:
    assert (
        rule_of(FACTS, ("nvidia", "kernel", "on_disk", "6.8.0-60-generic", "version")).group is DifferenceGroup.DRIVER
    )
