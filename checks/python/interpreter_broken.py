"""An interpreter that does not answer."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, known
from gpudoctor.targets import OnPython
from gpudoctor.tasks import query

# How the probe's sentence ends where nobody had time to ask.
OUT_OF_TIME = "the examination ran out of time."


def _all(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for python in facts.pythons:
        yield About(label=python.path, python=python.path), OnPython(facts, python)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    path = on.python.path
    message = (
        f"Start {on.python.path} by hand to see the message, first without its start files. If its base interpreter is "
        "gone, make the environment anew and install its packages again."
    )
    commands = (query(path, "-I", "-S", "-c", "import sys; print(sys.version)"), query("ls", "-l", path))
    return (Fix(message, commands, impact="none"),)


@check(
    title="The Python interpreter does not answer",
    severity=Severity.ERROR,
    cause="The environment was moved, its base interpreter was removed or upgraded, or a start file (sitecustomize, "
    "a .pth file) fails.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/venv.html",),
    targets=_all,
    caused_by=("host.*",),
    affects=("everything",),
    validated_on=("table 2026-11",),
    essential=True,
)
def interpreter_broken(on: OnPython) -> Problem | None:
    """The interpreter could not be asked at all."""
    error = on.python.error
    if error and error.endswith(OUT_OF_TIME):
        known(Unknown(error.rstrip(".")))  # it was not asked: that says nothing about it
    return Problem(f"{on.python.path} could not be asked: {error}", (error,)) if error else None
