"""Facts files of strangers, through every command that reads one: refused in a sentence, or judged and harmless."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor import demo
from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import FactsFileError, load
from gpudoctor.parsers.cpu_list import processors
from gpudoctor.privacy.masks import Masks
from tests.builders import change, framework, nvidia_host, with_framework
from tests.hostile.mutations import FILES
from tests.hostile.running import bases, batches, commands, held, strange

EACH = 5 if FILES < 1000 else 100  # commands that each file goes through, in turn; a long look asks all


@pytest.fixture(scope="module")
def trees() -> list[Any]:
    return bases()


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("batch", batches())
def test_mutated(trees: list[Any], batch: int, tmp_path: Path) -> None:
    facts, good = tmp_path / "facts.json", tmp_path / "good.json"
    good.write_bytes(msgspec.json.encode(demo.load("mismatch")))
    every = commands(str(facts), str(good), tmp_path)
    for seed in range(batch * 10, batch * 10 + 10):
        facts.write_bytes(strange(trees, seed))
        for turn in range(min(EACH, len(every))):
            argv, reader = every[(seed * EACH + turn) % len(every)]
            try:
                # of a plan: that it is for the CPU, that what is installed there fits, and how to plan for another GPU
                held(argv, reader, sentences=3 if argv[0] == "setup" else 1)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {' '.join(argv)}") from error


def test_the_fuzzer_makes_files_that_are_read_and_files_that_are_not(trees: list[Any]) -> None:
    read = 0
    for seed in range(60):
        try:
            load(strange(trees, seed))
            read += 1
        except FactsFileError:
            continue
    assert 15 < read < 55


TREE = json.loads(msgspec.json.encode(with_framework(framework())))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("gpus.0.memory", 10**400),
        ("gpus.0.memory", 2**63),
        ("gpus.0.memory", -1),
        ("gpus.0.index", -1),
        ("gpus.0.power", 1e308),
        ("gpus.0.link_width_max", 4096),
        ("pci.0.link_errors", [["BadTLP", 10**309]]),
        ("host.memory_limit", 10**309),
        ("host.uptime", -1e300),
        ("nvidia.nvml.count", 2**32),
        ("pythons.0.version", "three"),
        ("pythons.0.version", "\u00b3.11"),
        ("pythons.0.frameworks.0.version", "9" * 5000),
        ("pythons.0.frameworks.0.cuda", "twelve"),
        ("nvidia.kernel.loaded", "next"),
        ("created", "yesterday"),
        ("created", "2026-02-30T03:00:00Z"),
        ("created", "2026-11-21T03:00:00+99:99"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(place: str, value: Any) -> None:
    tree = json.loads(json.dumps(TREE))
    *steps, last = [int(step) if step.isdecimal() else step for step in place.split(".")]
    node = tree
    for step in steps:
        node = node[step]
    node[last] = value
    with pytest.raises(FactsFileError) as caught:
        load(json.dumps(tree).encode())
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert last == "created" or str(last) in text


def test_a_list_of_processors_that_names_each_ten_thousand_times_is_none() -> None:
    assert processors("0-8191," * 20_000 + "0") == frozenset()


def test_masking_takes_its_time_by_the_length_of_the_facts_and_not_by_its_square() -> None:
    """Before, each of so many took a look at all the others: half an hour."""
    cards = " ".join(f"GPU-{number:08x}-1111-2222-3333-444455556666" for number in range(100_000))
    homes = ":".join(f"/home/n{number}/x" for number in range(100_000))
    facts = change(nvidia_host(), "host.environment", {"LD_LIBRARY_PATH": homes, "CUDA_HOME": cards})
    found = Masks(facts).facts().host.environment
    assert found["LD_LIBRARY_PATH"].endswith(":/home/user100001/x")
    assert len(set(found["CUDA_HOME"].split())) == 100_000


def test_a_version_that_is_none_leaves_unknown_what_it_decides() -> None:
    from gpudoctor import check

    package: dict[str, Any] = {"name": "torchvision", "version": "unknown", "directory": "/x"}
    tree = json.loads(msgspec.json.encode(with_framework(framework())))
    tree["pythons"][0]["packages"] = [*tree["pythons"][0]["packages"], package]
    report = check(facts=load(json.dumps(tree).encode()))
    assert [one for one in report.unknown if one.broken] == []
    assert isinstance(load(json.dumps(tree).encode()), Facts)
