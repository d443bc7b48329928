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
from gpudoctor.machine import SMOKE_SECONDS, TOTAL_SECONDS, Machine
from gpudoctor.pipeline import CheckOptions

if TYPE_CHECKING:
    from gpudoctor.facts import Facts
    from gpudoctor.report.model import Report
    from gpudoctor.requirements.evaluate import UnmetDemand
    from gpudoctor.smoketests.options import SmokeOptions

Text = str | os.PathLike[str]
Texts = Text | Iterable[Text]


def check(
    machine: Machine | None = None,
    options: CheckOptions | None = None,
    facts: Facts | None = None,
    *,
    only: Texts = (),
    skip: Texts = (),
    expect: Texts = (),
    python: Texts = (),
    quick: bool = False,
    timeout: float | None = None,
) -> Report:
    """Examine this machine, or judge facts, and say what is wrong, why, and what to type.

    Args:
        machine: what to examine; None: this machine.
        options: all options at once, instead of those below.
        facts: facts that were gathered before; then nothing is examined.
        only: ids or areas of checks to ask; none: all.
        skip: ids or areas of checks not to ask.
        expect: files of expectations to hold it against; no other is read.
        python: interpreters or environments to examine; none: the active one, else .venv here or above.
        quick: import no framework.
        timeout: seconds after which it ends, whatever hangs; None: 150.

    Raises:
        SelectionError: `only` or `skip` matches nothing.
        ExpectFileError: a file of expectations cannot be used.
        InterpreterError: a given interpreter is not there or is no Python.
        ValueError: `timeout` is no time.
    """
    wanted = options or CheckOptions(pythons=_texts(python), quick=quick, only=_texts(only), skip=_texts(skip))
    if files := _texts(expect):
        import msgspec

        from gpudoctor.expect.discovery import expectations

        wanted = msgspec.structs.replace(wanted, expect=expectations(files, automatic=False))
    return pipeline.check(machine or _machine(timeout), wanted, facts)


def gather(
    machine: Machine | None = None,
    options: CheckOptions | None = None,
    *,
    python: Texts = (),
    quick: bool = False,
    timeout: float | None = None,
) -> Facts:
    """Find out everything about this machine, unjudged and unmasked; the arguments are those of `check`.

    Raises:
        InterpreterError: a given interpreter is not there or is no Python.
        ValueError: `timeout` is no time.
    """
    wanted = options or CheckOptions(pythons=_texts(python), quick=quick)
    return pipeline.gather(machine or _machine(timeout), wanted)


def _texts(given: Texts) -> tuple[str, ...]:
    return (os.fspath(given),) if isinstance(given, str | os.PathLike) else tuple(os.fspath(one) for one in given)


def _devices(given: int | Texts) -> tuple[str, ...]:
    return (str(given),) if isinstance(given, int) else _texts(given)


def _machine(timeout: float | None, default: float = TOTAL_SECONDS) -> Machine:
    if timeout is not None and timeout <= 0:
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
    """Run smoke tests, each in a process of its own, and say whether the GPU computes, trains and copies right.

    Args:
        tests: names as `gpudoctor smoke --list` shows them, or lists of names; none: the quick suite.
        everything: all tests.
        device: GPUs by index, UUID or PCI address, or "cpu"; none: every GPU, without one nothing is run.
        backend: pytorch, tensorflow, jax, cupy, driver or cpu; none: the frameworks that are installed.
        dtype: of matmul: fp32, tf32, fp16, bf16, fp8; none: all.
        seconds: that stress lasts.
        price: dollars per hour of this machine, for the test compare.
        python: the interpreter or environment that has the frameworks; none: the active one, else .venv here or above.
        timeout: seconds after which it ends; None: as long as each test's own limit.

    Raises:
        ChoiceError: a test, backend, device or data type is not there.
        InterpreterError: a given interpreter is not there or is no Python.
        ValueError: `timeout` is no time.
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
    *, python: Texts = (), facts: Facts | None = None, timeout: float | None = None, **demands: str | float
) -> Report:
    """Hold a machine against demands; where one does not hold, tell why and what to type.

    What explains it is the finding without which it would hold. Where nothing is wrong with the machine, the fix is
    what `gpudoctor setup` would bring: another driver, or another release of a framework.

    `require(driver=">=580", gpus=8, gpu="H100", torch_sees=8, pinned_h2d_gbps=20)`; numbers are the least that is
    wanted, versions are specifiers as in packaging, `gpu` is a part of every GPU's name. All names:
    gpudoctor.requirements.demands.DEMANDS. What could not be found out does not hold.

    Args:
        python: interpreters or environments to examine; none: the active one, else .venv here or above.
        facts: facts that were gathered before; then nothing is examined.
        timeout: seconds after which it ends, whatever hangs.
        demands: what is wanted.

    Returns:
        The report, where all of it holds.

    Raises:
        RequirementError: something does not hold, or could not be found out.
        TypeError: there is no such demand, or it wants something of another type.
        ValueError: a version specifier is none.
    """
    from gpudoctor.requirements.evaluate import RequirementError, unmet, validated

    wanted = validated(demands)
    tests = tuple(dict.fromkeys(demand.smoke for demand, _ in wanted.values() if demand.smoke))
    imports = any(name.endswith("_sees") for name in wanted)
    options = CheckOptions(pythons=_texts(python), quick=not imports and not tests, smoke=_tests(tests))
    machine = None if facts else _machine(timeout, SMOKE_SECONDS if tests else TOTAL_SECONDS)
    *_, done = (event for event in pipeline.examine(machine, options, facts) if isinstance(event, pipeline.Done))
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
    facts: Facts | None = None,
    *,
    python: Texts = (),
    timeout: float | None = None,
) -> list[Verdict]:
    """Ask a single check.

    Without facts, this machine is examined as far as the check needs it: a framework is imported where the check is
    about what it does. No smoke test is run: `smoke` runs those.

    Args:
        one: a check, the module that holds it (`from gpudoctor.checks.driver import library_mismatch`), or its id.
        facts: what it is asked about; None: this machine.
        python: interpreters or environments to examine; none: the active environment.
        timeout: seconds after which an examination ends, whatever hangs; None: 150.

    Returns:
        A verdict for each subject: the machine, each GPU, or each framework. Where the facts do not hold what the check
        looks at, it is unknown.

    Raises:
        SelectionError: there is no check of this id, or it stands for several.
        TypeError: the module holds no check.
        InterpreterError: a given interpreter is not there or is no Python.
        ValueError: `timeout` is no time.
    """
    from gpudoctor import single_check

    asked = _check(one)
    if facts is None:
        facts = gather(python=python, quick=True, timeout=timeout)
        if single_check.wants_more(asked, facts):
            facts = gather(python=python, timeout=timeout)
    return single_check.ask(asked, facts)


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
    return one


def _tests(names: tuple[str, ...]) -> SmokeOptions | None:
    from gpudoctor.smoketests.options import SmokeOptions

    return SmokeOptions(tests=names) if names else None


def record(
    facts: Facts | None = None,
    *,
    smoke: bool = False,
    force: bool = False,
    python: Texts = (),
    timeout: float | None = None,
) -> str:
    """What a machine that is well is like, as the text of a file of expectations: `check(expect=FILE)` holds to it.

    Args:
        facts: facts that were gathered before; then nothing is examined.
        smoke: run the quick smoke tests too, and write down the rates.
        force: write down a machine that is not well too.
        python: interpreters or environments to examine; none: the active one, else .venv here or above.
        timeout: seconds after which it ends, whatever hangs.

    Raises:
        RecordError: the machine fails, or nobody can say whether it is well.
        InterpreterError: a given interpreter is not there or is no Python.
        ValueError: `timeout` is no time.
    """
    from gpudoctor.expect.record import recorded
    from gpudoctor.smoketests import quick_suite

    options = CheckOptions(pythons=_texts(python), smoke=quick_suite() if smoke and facts is None else None)
    machine = None if facts else _machine(timeout, SMOKE_SECONDS if smoke else TOTAL_SECONDS)
    *_, done = (event for event in pipeline.examine(machine, options, facts) if isinstance(event, pipeline.Done))
    return recorded(done.facts, done.report, force)
