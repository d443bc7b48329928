"""The names of figures that a path may have are those that the smoke tests tell."""

import ast
from pathlib import Path

import pytest

import gpudoctor.workers.smoke
from gpudoctor.expect.smoke_paths import FIGURES, smoke_path
from gpudoctor.smoketests.suite import BY_NAME

TESTS = Path(gpudoctor.workers.smoke.__path__[0]) / "tests"
# Calls whose argument at this place is the name of a figure, or the beginning of one with a number in it.
TELLING = {"figure": 0, "_queued": 1, "_single": 1, "_rate": 1, "_tell": 1}


def reported(path: Path) -> set[str]:
    """The names of figures in a test's source."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            at = TELLING.get(name)
            given = node.args[at] if at is not None and len(node.args) > at else None
            if isinstance(given, ast.BinOp):  # "speed-up %d" % batch
                given = given.left
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                found.add(given.value.replace(" %d", ""))
    return found - {"%s"}


def test_every_test_has_its_figures() -> None:
    assert set(FIGURES) == set(BY_NAME)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_that_are_told(name: str) -> None:
    named = {figure.removesuffix(" 256").removesuffix(" 1") for figure in FIGURES[name]}
    assert named - {"%s"} == {
        one for one in reported(TESTS / f"{name.replace('-', '_')}.py") if not one.startswith("%s")
    }


def test_parts_of_a_path() -> None:
    assert smoke_path(["pytorch", "transfer", "h2d pinned"]) == ("pytorch", None, "transfer", None, "h2d pinned")
    assert smoke_path(["*", "*", "matmul bf16", "rate"]) == (None, None, "matmul", "bf16", "rate")
    assert smoke_path(["cupy", "GPU 0", "peer 0-1", "rate"]) == ("cupy", "GPU 0", "peer", "0-1", "rate")
