"""What scripts call: check, gather, smoke, require, record.

All of it is safe in threads, and in a process that has already started CUDA: whatever touches a driver or a framework
runs in a child process, and nothing is set or changed in this one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpudoctor import catalogue, pipeline
from gpudoctor.check_engine import Check, Verdict
from gpudoctor.facts import Facts
from gpudoctor.machine import SMOKE_SECONDS, TOTAL_SECONDS, Machine
from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.model import Report

if TYPE_CHECKING:
    from gpudoctor.requirements.evaluate import UnmetDemand
    from gpudoctor.smoketests.options import SmokeOptions
else:
    UnmetDemand = SmokeOptions = Any

Text = str | os.PathLike[str]
Texts = Text | Iterable[Text]
# Facts that were gathered before, or the file that has them (`gpudoctor facts`).
GivenFacts = Facts | Text | None


def check(
    machine: Machine | None = None,
    options: CheckOptions | None = None,
    facts: GivenFacts = None,
    *,
    only: Texts = (),
    skip: Texts = (),
    expect: Texts = (),
    python: Texts = (),
    quick: bool = False,
    timeout: float | None = None,
) -> Report:
    """Check this machine, or facts gathered before: what is wrong, why, and the commands that fix it.

    Args:
        machine: the machine to check; None: this one.
        options: all options at once, instead of those below.
        facts: Facts, or the path of a facts file (`gpudoctor facts`); then this machine is not read.
        only: ids or areas of checks to run; none: all.
        skip: ids or areas of checks not to run.
        expect: files of expectations that the machine has to meet; no other file is read.
        python: interpreters or environments to check; none: the active one, else .venv here or above.
        quick: import no framework.
        timeout: seconds after which the run ends, whatever hangs; None: 150.

    Raises:
        SelectionError: `only` or `skip` matches nothing (a ValueError).
        ExpectFileError: a file of expectations cannot be used.
        FactsFileError: a facts file cannot be read (a ValueError).
        InterpreterError: a given interpreter does not exist or is no Python (a ValueError).
        TypeError: an argument has another type.
        ValueError: `timeout` is not a positive number of seconds.
    """
    _typed(machine=(machine, Machine), options=(options, CheckOptions))
    held = _facts(facts)
    wanted = options or CheckOptions(pythons=_texts(python), quick=_flag(quick), only=_texts(only), skip=_texts(skip))
    if files := _texts(expect):
        import msgspec

        from gpudoctor.expect.discovery import expectations

        wanted = msgspec.structs.replace(wanted, expect=expectations(files, automatic=False))
    return pipeline.check(machine or _machine(timeout), wanted, held)


def gather(
    machine: Machine | None = None,
    options: CheckOptions | None = None,
    *,
    python: Texts = (),
    quick: bool = False,
    timeout: float | None = None,
) -> Facts:
    """Gather the facts about this machine, without verdicts and unmasked; the arguments are those of `check`.

    Raises:
        InterpreterError: a given interpreter does not exist or is no Python (a ValueError).
        TypeError: an argument has another type.
        ValueError: `timeout` is not a positive number of seconds.
    """
    _typed(machine=(machine, Machine), options=(options, CheckOptions))
    wanted = options or CheckOptions(pythons=_texts(python), quick=_flag(quick))
    return pipeline.gather(machine or _machine(timeout), wanted)


def _texts(given: Texts) -> tuple[str, ...]:
    if isinstance(given, str | os.PathLike):
        return (os.fspath(given),)
    if not isinstance(given, Iterable):
        raise TypeError(f"Texts or paths are expected, not {given!r}.")
    return tuple(os.fspath(one) for one in given)


def _flag(quick: bool) -> bool:
    _typed(quick=(quick, bool))
    return quick


def _typed(**given: tuple[object, type]) -> None:
    """Refuse an argument of another type before anything is read; None is for what was not given."""
    for name, (value, kind) in given.items():
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name} takes {'True or False' if kind is bool else kind.__name__}, not {value!r}.")


def _facts(given: GivenFacts) -> Facts | None:
    if given is None or isinstance(given, Facts):
        return given
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"facts takes Facts (of gather) or the path of a facts file, not {given!r}.")
    from gpudoctor.facts.facts_file import read

    return read(os.fspath(given))


def _devices(given: int | Texts) -> tuple[str, ...]:
    return (str(given),) if isinstance(given, int) else _texts(given)


def _machine(timeout: float | None, default: float = TOTAL_SECONDS) -> Machine:
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float)):
        raise TypeError(f"timeout takes a number of seconds, not {timeout!r}.")
    if timeout is not None and not 0 < timeout < float("inf"):
        raise ValueError(f"timeout must be a positive number of seconds, not {timeout!r}.")
    return Machine(seconds=default if timeout is None else timeout)


def smoke(
    *tests: Texts,
    everything: bool = False,
    device: int | Texts = (),
    backend: Texts = (),
    dtype: Texts = (),
    seconds: int = 10,
    price: float | None = None,
    python: Texts = (),
    timeout: float | None = None,
) -> Report:
    """Run smoke tests, each in its own process: whether the GPU computes, trains and copies correctly.

    Args:
        tests: names as `gpudoctor smoke --list` shows them, or lists of names; none: the quick suite.
        everything: all tests.
        device: GPUs by index, UUID or PCI address, or "cpu"; none: every GPU, without one nothing is run.
        backend: pytorch, tensorflow, jax, cupy, driver or cpu; none: the frameworks that are installed.
        dtype: of matmul: fp32, tf32, fp16, bf16, fp8; none: all.
        seconds: how long the test stress runs.
        price: dollars per hour of this machine, for the test compare.
        python: the interpreter or environment that has the frameworks; none: the active one, else .venv here or above.
        timeout: seconds after which it ends; None: as long as each test's own limit.

    Raises:
        ChoiceError: a test, backend, device or data type does not exist.
        InterpreterError: a given interpreter does not exist or is no Python (a ValueError).
        TypeError: an argument has another type.
        ValueError: `timeout` is not a positive number of seconds.
    """
    from gpudoctor.smoketests.options import SmokeOptions

    choice = SmokeOptions(
        tests=tuple(name for given in tests for name in _texts(given)),
        everything=everything,
        devices=_devices(device),
        backends=_texts(backend),
        dtypes=_texts(dtype),
        seconds=seconds,
        price=price,
    )
    options = CheckOptions(pythons=_texts(python), quick=True, smoke=choice, area="smoke")
    return pipeline.check(_machine(timeout, SMOKE_SECONDS), options)


def require(
    *, python: Texts = (), facts: GivenFacts = None, timeout: float | None = None, **demands: str | float
) -> Report:
    """Require that a machine meets demands; without any, that it has a GPU that works.

    A demand that is not met comes with the finding that explains it. Where nothing is wrong with the machine, the fix
    is what `gpudoctor setup` would install: another driver, or another release of a framework.

    `require(driver=">=580", gpus=8, gpu="H100", torch_sees=8, pinned_h2d_gbps=20)`; numbers are minimums, versions are
    specifiers as in packaging, `gpu` is a part of every GPU's name. All names: gpudoctor.requirements.demands.DEMANDS.
    A demand that could not be checked is not met.

    Args:
        python: interpreters or environments to check; none: the active one, else .venv here or above.
        facts: Facts, or the path of a facts file; then this machine is not read.
        timeout: seconds after which the run ends, whatever hangs.
        demands: what the machine has to have; none: `gpus=1`.

    Returns:
        The report, if all demands are met.

    Raises:
        RequirementError: a demand is not met, or could not be checked.
        FactsFileError: a facts file cannot be read (a ValueError).
        TypeError: there is no such demand, or its value has another type.
        ValueError: a value cannot be: a version specifier that is not valid, a negative number.
    """
    from gpudoctor.requirements.evaluate import RequirementError, unmet, validated

    wanted, held = validated(demands or {"gpus": 1}), _facts(facts)
    tests = tuple(dict.fromkeys(demand.smoke for demand, _ in wanted.values() if demand.smoke))
    imports = any(name.endswith("_sees") for name in wanted)
    options = CheckOptions(pythons=_texts(python), quick=not imports and not tests, smoke=_tests(tests))
    machine = None if held else _machine(timeout, SMOKE_SECONDS if tests else TOTAL_SECONDS)
    *_, done = (event for event in pipeline.examine(machine, options, held) if isinstance(event, pipeline.Done))
    if missing := unmet(wanted, done.facts, done.report):
        raise RequirementError(tuple(_planned(one, done.facts, wanted[one.name].given) for one in missing), done.report)
    return done.report


def _planned(one: UnmetDemand, facts: Facts, wanted: object) -> UnmetDemand:
    """The same, with what would make the machine so where nothing is wrong with it."""
    if one.finding or one.unknown:
        return one
    from gpudoctor.report.fixes import entries
    from gpudoctor.setup.requirement_fixes import fixes

    return one._replace(planned=entries(fixes(facts, one.name, wanted), facts))


def run(
    one: Check[Any] | ModuleType | str,
    facts: GivenFacts = None,
    *,
    python: Texts = (),
    timeout: float | None = None,
) -> list[Verdict]:
    """Run a single check.

    Without facts, this machine is read as far as the check needs it: a framework is imported if the check is about
    what it does. No smoke test is run: `smoke` runs those.

    Args:
        one: a check, the module that contains it (`from gpudoctor.checks.driver import library_mismatch`), or its id.
        facts: Facts, or the path of a facts file; None: this machine.
        python: interpreters or environments to check; none: the active environment.
        timeout: seconds after which the run ends, whatever hangs; None: 150.

    Returns:
        A verdict for each target: the machine, each GPU, or each framework. Unknown where the facts do not contain what
        the check reads.

    Raises:
        SelectionError: there is no check of this id, or it stands for several (a ValueError).
        FactsFileError: a facts file cannot be read (a ValueError).
        TypeError: the module contains no check, or an argument has another type.
        InterpreterError: a given interpreter does not exist or is no Python (a ValueError).
        ValueError: `timeout` is not a positive number of seconds.
    """
    from gpudoctor import single_check

    asked, held = _check(one), _facts(facts)
    if held is None:
        held = gather(python=python, quick=True, timeout=timeout)
        if single_check.wants_more(asked, held):
            held = gather(python=python, timeout=timeout)
    return single_check.ask(asked, held)


def _check(one: Check[Any] | ModuleType | str) -> Check[Any]:
    """The check itself."""
    if isinstance(one, str):
        ids = catalogue.select(catalogue.ids(), (one,), ())
        if len(ids) != 1:
            raise catalogue.SelectionError(
                f'"{one}" is an area of {len(ids)} checks: `check(only="{one}")` runs them all.'
            )
        return catalogue.load(ids)[0]
    if isinstance(one, ModuleType):
        held = getattr(one, one.__name__.rpartition(".")[2], None)
        if not isinstance(held, Check):
            raise TypeError(f"{one.__name__} contains no check.")
        return held
    if not isinstance(one, Check):
        raise TypeError(f"A check, its module or its id is expected, not {one!r}.")
    return one


def _tests(names: tuple[str, ...]) -> SmokeOptions | None:
    from gpudoctor.smoketests.options import SmokeOptions

    return SmokeOptions(tests=names) if names else None


def record(
    facts: GivenFacts = None,
    *,
    smoke: bool = False,
    force: bool = False,
    python: Texts = (),
    timeout: float | None = None,
) -> str:
    """Record a healthy machine as the text of a file of expectations, which `check(expect=FILE)` compares with.

    Args:
        facts: Facts, or the path of a facts file; then this machine is not read.
        smoke: run the quick smoke tests too, and record the rates.
        force: record a machine that is not healthy too.
        python: interpreters or environments to check; none: the active one, else .venv here or above.
        timeout: seconds after which the run ends, whatever hangs.

    Raises:
        RecordError: the machine fails, or too much of it is unknown.
        FactsFileError: a facts file cannot be read (a ValueError).
        InterpreterError: a given interpreter does not exist or is no Python (a ValueError).
        TypeError: an argument has another type.
        ValueError: `timeout` is not a positive number of seconds.
    """
    from gpudoctor.expect.record import recorded
    from gpudoctor.smoketests import quick_suite

    held = _facts(facts)
    options = CheckOptions(pythons=_texts(python), smoke=quick_suite() if smoke and held is None else None)
    machine = None if held else _machine(timeout, SMOKE_SECONDS if smoke else TOTAL_SECONDS)
    *_, done = (event for event in pipeline.examine(machine, options, held) if isinstance(event, pipeline.Done))
    return recorded(done.facts, done.report, force)
