"""The words that a row leaves open in its commands (PACKAGE, OTHER, LIBRARY and the like), filled from the log."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.facts import Facts
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import BY_MODULE
from gpudoctor.report.model import FixEntry
from gpudoctor.symptoms.mismatch import SPACES, callers, distribution

_LIBRARY = pattern(r"\blib[\w+-]+\.so(?:\.\d+)*")
_PLACE = pattern(r"\bPACKAGE\b")
# A program that could not be started, in the words of Python, of a shell and of pip.
_PROGRAM = pattern(r"No such file or directory: '([\w.+-]+)'|([\w.+-]+): (?:command )?not found|command '([\w.+-]+)'")
# What pip could not build or find.
_REQUESTED = pattern(
    r"Failed to build '([\w.-]+)'|(?:Failed building wheel|No matching distribution found) for ([\w.-]+\w)"
    r"|that satisfies the requirement ([\w.-]+\w)|[Cc]ould not build wheels for ([\w.-]+\w)"
    r"|Didn't find wheel for ([\w.-]+\w)|The installation of ([\w.-]+\w) for version"
)
_MODEL = pattern(r"huggingface\.co/(?!api/|docs/|datasets/|spaces/)([\w.-]+/[\w.-]+)")


def named(
    steps: Sequence[FixEntry], lines: Sequence[str], frames: Sequence[str], facts: Facts | None = None
) -> tuple[FixEntry, ...]:
    """The steps of a message's row with what log and traceback name in place of PACKAGE, OTHER, LIBRARY and the like.

    Where the innermost code that is no framework's is the program's own, there is no package to upgrade.

    Args:
        steps: of the row.
        lines: the message's line, and those after it.
        frames: as of `callers`.
        facts: of the machine, whose packages are known by their names; None: nothing is known of it.
    """
    text = lines[0]
    other = callers(text, frames)[1]
    caller = next((one for one in frames if one != (other or None) and one not in BY_MODULE), None)
    library, requested = _LIBRARY.search(text), next(filter(None, map(_REQUESTED.search, lines)), None)
    here = caller != "" or requested is not None
    kept = (step for step in steps if here or not any(_PLACE.search(line) for line in step.commands))
    words = {"LIBRARY": library[0] if library else ""}
    modules = {word: name for word, name in (("PACKAGE", caller or ""), ("OTHER", other)) if name not in ("", *SPACES)}
    if program := _PROGRAM.search(text):
        words["PROGRAM"] = next(filter(None, program.groups()))
    if requested:
        words["PACKAGE"] = next(filter(None, requested.groups()))
        modules.pop("PACKAGE", None)
    if model := next(filter(None, map(_MODEL.search, lines)), None):
        words["MODEL"] = model[1]
    return tuple(_filled(step, words, modules, facts) for step in kept) or tuple(steps)


def _filled(step: FixEntry, words: dict[str, str], modules: dict[str, str], facts: Facts | None) -> FixEntry:
    message, lines = step.message, step.commands
    for word, name in words.items():
        if name:
            lines = tuple(re.sub(rf"(?<![\w_]){word}(?![\w_])", name, line) for line in lines)
            message = message.replace(f"/{word}", f"/{name}")  # of an address
    for word, module in modules.items():
        whole = re.compile(rf"(?<![\w_]){word}(?![\w_])")
        # split, not sub: what takes its place has backslashes of its own
        lines = tuple(_distribution(module, line, facts).join(whole.split(line)) for line in lines)
    return replace(step, message=message, commands=lines)


def _distribution(module: str, line: str, facts: Facts | None) -> str:
    """The distribution that brings a module, for a command; where no table knows it, what finds it when it is typed."""
    if name := distribution(module, facts):
        return name
    python = line.split(" -m pip", 1)[0] if " -m pip" in line else "python"
    ask = f'from importlib.metadata import packages_distributions as p; print(p()["{module}"][0])'
    return f"\"$({python} -c '{ask}')\""
