"""Answers one call, in a process of its own: what hangs or crashes there ends with it, and so does a cancelled call.

Everything that leaves is masked as in the formats made for sharing.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import msgspec

from gpudoctor.cli import UsageError, parser
from gpudoctor.cli.check import judged, machine_of, options_of
from gpudoctor.cli.mcp_server.bounds import WIDTH, check_answer, cut, left_findings
from gpudoctor.cli.mcp_server.environments import MASKED, allowed
from gpudoctor.cli.mcp_server.tools import (
    LARGEST_LOG,
    QUICK_SECONDS,
    TOOLS,
    CheckArguments,
    DiffArguments,
    ExplainArguments,
    SetupArguments,
    ToolAnswer,
)
from gpudoctor.lazy_regex import pattern

if TYPE_CHECKING:
    from gpudoctor.check_engine import Verdict
    from gpudoctor.comparison import ComparedMachine
    from gpudoctor.facts import Facts
    from gpudoctor.report.model import Report
    from gpudoctor.symptoms import Log

HOME = pattern(rf"{MASKED}(?!\w)")
OF_HOME = (
    "Names are masked: /home/user stands for this user's home directory ($HOME). Put that in before you use a path."
)
SHORTER = "Pass a shorter text, such as the part around the first error."
NO_TEXT = 'explain needs a text: a check ID, an error code such as "Xid 79", an error message, or a log.'


def answer_json(tool: str, given: bytes, pythons: Sequence[str]) -> bytes:
    """The answer to a call as JSON.

    Args:
        tool: its name.
        given: the arguments as JSON.
        pythons: environments that the user named when the server was started.
    """
    with redirect_stdout(io.StringIO()):
        try:
            answer = ANSWERS[tool](_decoded(tool, given), pythons)
        except UsageError as error:
            answer = ToolAnswer(error=_masked_error(str(error)))
    if HOME.search(answer.text):
        answer.text = f"{answer.text.rstrip()}\n\n{OF_HOME}\n"
        if answer.data:
            answer.data["notes"].append(OF_HOME)
    from gpudoctor.report.sanitize import document

    return document(answer).encode()


def _masked_error(sentence: str) -> str:
    """A sentence that was made without facts, without the names of this machine and its user."""
    from gpudoctor.facts import Facts, Host, User
    from gpudoctor.privacy.masks import Masks

    home = os.environ.get("HOME", "")
    host = Host(hostname=platform.node(), user=User(name=os.path.basename(home)), environment={"HOME": home})
    return Masks(Facts(host=host)).text(sentence)


def _decoded(tool: str, given: bytes) -> Any:
    """The arguments.

    Raises:
        UsageError: they do not fit the tool.
    """
    try:
        return msgspec.json.decode(given, type=TOOLS[tool].arguments)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"The arguments of {tool} are not valid: {_plain(str(error))}.") from None


# What msgspec calls JSON's types, and the forms of its errors: "Expected `array`, got `str` - at `$.only`".
_TYPES = {"str": "a string", "int": "a number", "float": "a number", "bool": "true or false", "null": "null"}
_TYPES |= {"array": "a list", "object": "an object"}
_MISFIT = pattern(r"Expected `(.+?)`, got `(\w+)` - at `\$\.(.+?)`")
_UNKNOWN = pattern(r"Object contains unknown field `(.+?)`")
_MISSING = pattern(r"Object missing required field `(.+?)`")


def _plain(error: str) -> str:
    """An error of msgspec's as a sentence; one of another form as it is."""
    if found := _UNKNOWN.match(error):
        return f"there is no argument `{found[1]}`"
    if found := _MISSING.match(error):
        return f"`{found[1]}` is missing"
    if found := _MISFIT.match(error):
        wanted = " or ".join(dict.fromkeys(_TYPES.get(one, one) for one in found[1].split(" | ")))
        return f"`{found[3]}` takes {wanted}, not {_TYPES.get(found[2], found[2])}"
    return error.replace("`$.", "`")


def _check(given: CheckArguments, pythons: Sequence[str]) -> ToolAnswer:
    from gpudoctor.catalogue import SelectionError
    from gpudoctor.cli.expect_options import expecting
    from gpudoctor.cli.output_options import ReportOutput, leaving
    from gpudoctor.report.renderers.text import render

    arguments = _arguments("check", given.full, given.python, pythons)
    options = expecting(arguments, options_of(arguments, given.only, []))
    try:
        report, facts, _ = judged(machine_of(arguments), options)
    except SelectionError as error:
        raise UsageError(str(error)) from None
    report = leaving(report, facts, options, ReportOutput("text", mask=True)).report
    return ToolAnswer(cut(render(report, WIDTH), left_findings(report)), msgspec.to_builtins(check_answer(report)))


def _explain(given: ExplainArguments, pythons: Sequence[str]) -> ToolAnswer:
    from gpudoctor.cli.explain import named
    from gpudoctor.symptoms.lookup import messages

    text = given.text.strip()
    if not text:
        raise UsageError(NO_TEXT)
    if len(text) > LARGEST_LOG:
        raise UsageError(f"The text has {len(text):,} characters, and explain takes up to {LARGEST_LOG:,}. {SHORTER}")
    with redirect_stdout(io.StringIO()) as page:
        if named(text, verbose=False) is not None:
            return ToolAnswer(cut(page.getvalue(), lambda _: "`gpudoctor explain` in a terminal prints all of it."))
    known = messages(text)
    if len(known) > 1:
        choices = "".join(f"- {one}\n" for one in known)
        return ToolAnswer(f'"{text}" can be one of these; call explain again with the one that is meant:\n{choices}')
    found = _explained(known[0] if known else text, given, pythons)
    return ToolAnswer(cut(found, lambda _: SHORTER))


def _explained(text: str, given: ExplainArguments, pythons: Sequence[str]) -> str:
    """What is recognised in a text, next to what is found on this machine."""
    from gpudoctor.facts import Facts
    from gpudoctor.report.renderers.symptom_text import render
    from gpudoctor.symptoms import explained, with_shown

    log = _log(text)
    elsewhere = given.machine == "other"
    arguments = None if elsewhere else _arguments("explain", given.full, given.python, pythons, "x")
    found = _masked(arguments) if arguments else MaskedDiagnosis(Facts())
    where: Any = {"other": "elsewhere", "this": "here"}.get(given.machine, "here" if log.asked else None)
    if arguments and (shown := with_shown(found.facts, log, where)) is not found.facts:
        found = MaskedDiagnosis(shown)
    report = found.masks.report(explained(found.report, log, found.facts, found.verdicts, where))
    return render(report, WIDTH) + "".join(_near(text, log))


def _log(text: str) -> Log:
    """A log, where there are several lines; a single one is an error that somebody asks about."""
    from gpudoctor.symptoms import log_of, scan

    return scan([text.encode("utf-8", "replace")]) if "\n" in text else log_of(text)


def _near(text: str, log: Log) -> Iterator[str]:
    """Checks that may be about a message that nobody knows."""
    from gpudoctor import catalogue

    if not (log.hits or log.harmless) and "\n" not in text and (near := catalogue.search(text)):
        yield "\nChecks that may be about it (call explain with an ID):\n"
        yield from (f"  {one}\n" for one in near)


class MaskedDiagnosis:
    """What was found on a machine, and what may leave it.

    Args:
        facts: as they were found.
    """

    def __init__(self, facts: Facts) -> None:
        from gpudoctor.pipeline import CheckOptions
        from gpudoctor.privacy.masks import Masks

        self.facts, self.masks = facts, Masks(facts)
        self.hidden = self.masks.facts()
        report, _, verdicts = judged(None, CheckOptions(quick=facts.quick), self.hidden)
        self.report: Report = report
        self.verdicts: tuple[Verdict, ...] = verdicts


def _masked(arguments: argparse.Namespace) -> MaskedDiagnosis:
    _, facts, _ = judged(machine_of(arguments), options_of(arguments, [], []))
    return MaskedDiagnosis(facts)


def _setup_plan(given: SetupArguments, pythons: Sequence[str]) -> ToolAnswer:
    from gpudoctor.cli.setup import found, setup_request
    from gpudoctor.privacy.masks import Masks
    from gpudoctor.setup.planner import plan
    from gpudoctor.setup.text import render

    frameworks = list(dict.fromkeys(given.frameworks))
    arguments = _arguments("setup", False, given.into, pythons, *frameworks)
    arguments.manager = None if given.manager == "auto" else given.manager
    arguments.driver, arguments.cpu, arguments.container_toolkit = given.driver, given.cpu, given.container_toolkit
    arguments.python_version = given.python_version or None
    if given.into:
        arguments.into, arguments.python = arguments.python[0], []
    facts = found(arguments)
    hidden = Masks(facts).facts()
    request = setup_request(arguments, hidden)
    request = msgspec.structs.replace(request, place="gpu-env")  # as it was typed: where that is, is masked
    return ToolAnswer(cut(render(plan(hidden, request), WIDTH), lambda _: "Ask for fewer frameworks at a time."))


def _diff(given: DiffArguments, _: Sequence[str]) -> ToolAnswer:
    from gpudoctor.cli.diff_text import render
    from gpudoctor.comparison import compare
    from gpudoctor.facts import Facts
    from gpudoctor.privacy.masks import Masks

    text = render(compare(_side(given.a), _side(given.b)), WIDTH, everything=given.all)
    return ToolAnswer(cut(Masks(Facts()).text(text), lambda _: "`gpudoctor diff A B` in a terminal prints all of it."))


def _side(path: str) -> ComparedMachine:
    """A file to compare; facts are masked as they are read.

    Raises:
        UsageError: it cannot be read, or is neither facts nor a report.
    """
    from gpudoctor.comparison import read
    from gpudoctor.facts.facts_file import FactsFileError

    try:
        return read(path)
    except FactsFileError as error:
        raise UsageError(str(error)) from None


def _arguments(command: str, full: bool, python: str, pythons: Sequence[str], *words: str) -> argparse.Namespace:
    """The arguments of a command as if somebody had typed them; of an assistant's words none becomes an option.

    Raises:
        UsageError: the interpreter is none that may be run.
    """
    found: argparse.Namespace = parser(command).parse_args([command, *words])
    found.quick = not full
    found.timeout = None if full else QUICK_SECONDS
    found.python = [allowed(python, pythons)] if python else []
    return found


ANSWERS: dict[str, Callable[[Any, Sequence[str]], ToolAnswer]] = {
    "check": _check,
    "explain": _explain,
    "setup_plan": _setup_plan,
    "diff": _diff,
}
