"""A single check: what was not gathered is gathered or unknown, never skipped."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gpudoctor
from gpudoctor import Facts, Outcome, single_check
from gpudoctor.catalogue import load
from gpudoctor.check_engine import run
from gpudoctor.checks.packages import extension_abi
from gpudoctor.facts import Framework, Python
from gpudoctor.maybe import Unknown
from tests.builders import nvidia_host, plain_host
from tests.machines import driver, frameworks
from tests.machines.registry import Machine, machines
from tests.parsers.elves import library
from tests.probes.environments import distribution, machine, venv
from tests.probes.test_live import WORKING

BLIND = WORKING.replace("lambda: True", "lambda: False").replace("lambda: 1", "lambda: 0")
OLD_ABI = "_ZN3c105ErrorC2ENS_14SourceLocationESs"


def left_out(facts: Facts) -> Facts:
    """The facts as a quick gathering would have left them."""

    def quick(python: Python) -> Python:
        bare = tuple(msgspec.structs.replace(one, live=None) for one in python.frameworks)
        extensions = Unknown("not read") if python.extensions else ()
        return msgspec.structs.replace(python, extensions=extensions, frameworks=bare)

    return msgspec.structs.replace(facts, quick=True, pythons=tuple(quick(one) for one in facts.pythons))


def outcomes(verdicts: list[gpudoctor.Verdict]) -> set[str]:
    return {verdict.outcome.value for verdict in verdicts}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment with a PyTorch that sees no GPU, and an extension of another ABI."""
    folder = tmp_path_factory.mktemp("single") / "env"
    site = venv(folder)
    distribution(site, "torch", "2.9.0", ("torch/__init__.py", "torch/lib/libc10.so"))
    (site / "torch/__init__.py").write_text(BLIND)
    (site / "torch/lib/libc10.so").write_bytes(library("libc10.so", defines=("_ZN2at5emptyE",)))
    distribution(site, "flash-attn", "1.0", ("flash_attn_2_cuda.so",))
    (site / "flash_attn_2_cuda.so").write_bytes(library(needed=("libc10.so",), undefined=(OLD_ABI,)))
    return str(folder / "bin/python")


def test_a_framework_is_imported_where_the_check_is_about_what_it_does(environment: str) -> None:
    (verdict,) = gpudoctor.run("pytorch.import-fails", python=environment)
    assert (verdict.outcome, verdict.about.label) == (Outcome.PASS, "PyTorch 2.9.0")


def test_symbols_are_read_where_the_check_is_about_them(environment: str) -> None:
    (verdict,) = gpudoctor.run(extension_abi, python=environment)
    assert verdict.outcome is Outcome.PROBLEM


def test_nothing_is_imported_for_a_check_that_does_not_ask(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    whole = gpudoctor.gather

    def gather(**words: Any) -> Facts:
        asked.append(words)
        return whole(**words)

    monkeypatch.setattr("gpudoctor.library.gather", gather)
    gpudoctor.run("driver.library-mismatch", python=environment, timeout=60)
    assert asked == [{"python": environment, "quick": True, "timeout": 60}]


def test_a_framework_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    venv(tmp_path / "env")
    assert outcomes(gpudoctor.run("pytorch.no-gpu", python=tmp_path / "env")) == {"skipped"}


def test_what_a_quick_gathering_leaves_out_is_known_to_be_so(environment: str) -> None:
    """Of everything that the two gatherings have otherwise, the quick one says itself that it does not know it."""
    wanted = gpudoctor.CheckOptions(pythons=(environment,))
    full = gpudoctor.gather(machine(), wanted)
    quick = gpudoctor.gather(machine(), msgspec.structs.replace(wanted, quick=True))
    found = {field for field, less, more in differing(quick.pythons, full.pythons, "") if not isinstance(less, Unknown)}
    assert found - {"startup"} == {"live"}  # the seconds that the interpreter took to start differ


def differing(less: Any, more: Any, field: str) -> Iterator[tuple[str, Any, Any]]:
    """The name of each field that differs, and its values."""
    if isinstance(less, msgspec.Struct) and type(less) is type(more):
        for name in less.__struct_fields__:
            yield from differing(getattr(less, name), getattr(more, name), name)
    elif isinstance(less, tuple) and isinstance(more, tuple) and len(less) == len(more):
        for one, other in zip(less, more, strict=True):
            yield from differing(one, other, field)
    elif less != more:
        yield field, less, more


@pytest.mark.parametrize("one_machine", machines(), ids=lambda one: one.name)
def test_a_quick_answer_is_the_full_one_or_more_is_wanted(one_machine: Machine) -> None:
    """For every check: where quick facts would change its answer, it is seen to want more, and is not skipped."""
    name, facts = one_machine.name, one_machine.make()
    quick = left_out(facts)
    for one in load():
        full, bare = outcomes(run(one, facts)), outcomes(run(one, quick))
        assert full == bare or single_check.wants_more(one, quick), (name, one.id, full, bare)
        if full - {"skipped", "pass"}:
            assert outcomes(single_check.ask(one, quick)) != {"skipped"}, (name, one.id)


def test_quick_facts_give_the_reason() -> None:
    facts = left_out(frameworks.cpu_wheel())
    (verdict,) = gpudoctor.run("pytorch.import-fails", facts)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.message.startswith("PyTorch ")
    assert verdict.message.endswith(" was not imported")


def test_extensions_that_nobody_read_are_no_pass() -> None:
    full = frameworks.on(nvidia_host(), Framework(name="torch"), extensions=())
    assert outcomes(gpudoctor.run(extension_abi, full)) == {"pass"}
    quick = frameworks.on(nvidia_host(), Framework(name="torch"), extensions=Unknown("not read (--quick)"))
    (verdict,) = gpudoctor.run(extension_abi, quick)
    assert (verdict.outcome, verdict.message) == (Outcome.UNKNOWN, "not read (--quick)")


def test_a_quick_check_passes_no_extension_that_it_did_not_read(environment: str) -> None:
    for quick, outcome in ((True, Outcome.UNKNOWN), (False, Outcome.PROBLEM)):
        facts = gpudoctor.gather(machine(), gpudoctor.CheckOptions(pythons=(environment,), quick=quick))
        (verdict,) = run(extension_abi.extension_abi, facts)
        assert verdict.outcome is outcome


def test_no_check_of_the_smoke_tests_is_skipped_where_none_ran() -> None:
    for one in load():
        if one.area == "smoke":
            (verdict,) = gpudoctor.run(one, nvidia_host())
            assert (verdict.outcome, verdict.message) == (Outcome.UNKNOWN, "no smoke test was run"), one.id


def test_a_problem_on_quick_facts_stays_one() -> None:
    facts = left_out(driver.module_not_loaded())
    assert outcomes(gpudoctor.run("driver.not-loaded", facts)) == {"problem"}


def test_what_is_not_there_is_skipped() -> None:
    assert outcomes(gpudoctor.run("pytorch.no-gpu", plain_host(pythons=()))) == {"skipped"}


def test_an_area_is_no_single_check() -> None:
    with pytest.raises(ValueError, match=r"is an area of \d+ checks: `check\(only=\"driver\"\)` runs them all"):
        gpudoctor.run("driver", plain_host())


def test_a_check_says_which_it_is() -> None:
    assert repr(extension_abi.extension_abi) == "<Check packages.extension-abi>"
    assert sys.getsizeof(repr(gpudoctor.run("smoke.crashes", plain_host()))) < 500
