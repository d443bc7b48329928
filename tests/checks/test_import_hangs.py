"""Frameworks that do not come back: a hang is told only of one that had its full time."""

from typing import Any

import pytest

from gpudoctor.checks.cupy.import_hangs import import_hangs as cupy
from gpudoctor.checks.jax.import_hangs import import_hangs as jax
from gpudoctor.checks.onnxruntime.import_hangs import import_hangs as onnxruntime
from gpudoctor.checks.pytorch.import_hangs import import_hangs as torch
from gpudoctor.checks.tensorflow.import_hangs import import_hangs as tensorflow
from gpudoctor.maybe import Unknown
from tests.builders import ask, framework, live, with_framework
from tests.checks.environments import commands

EVERY = {"torch": torch, "tensorflow": tensorflow, "cupy": cupy, "jax": jax, "onnxruntime": onnxruntime}
WHY = "no answer within 5 s in the stage import, all that the examination had left"
each = pytest.mark.parametrize("name", EVERY)


def reported(name: str, **changes: Any) -> tuple[str, str]:
    found = framework(name, "1.2.3", live=live(**changes))
    return ask(EVERY[name], with_framework(found))[0]


@each
def test_one_that_was_cut_short_is_unknown(name: str) -> None:
    assert reported(name, available=Unknown(WHY), stage="import") == ("unknown", WHY)
    assert EVERY[name].essential


@each
def test_one_that_had_its_time_hangs(name: str) -> None:
    outcome, message = reported(name, available=Unknown("no answer"), stage="import", hung=True)
    assert (outcome, message.partition(" hangs ")[2]) == ("problem", "while importing.")


@each
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"available": Unknown("it died"), "died": "SIGSEGV", "stage": "import"},
        {"available": Unknown("it raised"), "import_error": "ImportError: no", "stage": "import"},
        {"available": False, "stage": "init"},
        {"available": Unknown("not asked"), "stage": "done"},
    ],
    ids=["well", "died", "raised", "answered", "done"],
)
def test_one_that_ended_does_not_hang(name: str, changes: dict[str, Any]) -> None:
    assert reported(name, **changes) == ("pass", "")


@each
def test_the_fix_asks_the_examined_interpreter_in_one_line(name: str) -> None:
    found = framework(name, "1.2.3", live=live(available=Unknown("no answer"), stage="init", hung=True))
    facts = with_framework(found)
    first = commands(EVERY[name], facts).splitlines()[1]
    assert first.startswith(f"timeout 90 {facts.pythons[0].path} -c 'import faulthandler; ")
    assert first.endswith("'")
    assert f"import {name}" in first
