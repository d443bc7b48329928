"""Frameworks and areas are described in one place: nobody else lists them, and a new one is known everywhere."""

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import checks
from gpudoctor.registry import AREAS, FRAMEWORKS

ROOT = Path(gpudoctor.__file__).parent
OWN = ("registry.py", "checks/", "workers/")
# What is particular in some frameworks, by their names; one that is not named there has the general answer.
PARTICULAR = {
    "probes/python/gpu_packages.py",
    "probes/frameworks/refusals.py",
    "setup/choice.py",
    "setup/conflicts.py",
}
# What explains that a GPU is missing: about demands, and not about areas.
EXPLAINS = {"requirements/demands.py"}
NAMES = {name: one.module for one in FRAMEWORKS for name in (one.module, one.area, f"{one.area}.*", one.title)}


@cache
def _collections(source: str) -> list[tuple[int, set[str]]]:
    """The texts of each tuple, list, set and dictionary, and the line where it begins."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = [*node.elts]
        elif isinstance(node, ast.Dict):
            parts = [*node.keys]
        texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        if texts:
            found.append((parts[0].lineno if parts[0] else 0, texts))
    return found


def _lists(source: str, names: dict[str, str], least: int) -> list[int]:
    """The lines of the collections that name at least so many different things."""
    named = ((line, {names[text] for text in texts & set(names)}) for line, texts in _collections(source))
    return [line for line, found in named if len(found) >= least]


def _files(allowed: set[str]) -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(OWN) and name not in allowed:
            yield name, path.read_text(encoding="utf-8")


def test_nobody_else_lists_the_frameworks() -> None:
    lists = {name: _lists(text, NAMES, 3) for name, text in _files(PARTICULAR)}
    assert {name: lines for name, lines in lists.items() if lines} == {}


def test_nobody_else_lists_the_areas() -> None:
    areas = {area.name: area.name for area in AREAS}
    lists = {name: _lists(text, areas, 5) for name, text in _files(EXPLAINS)}
    assert {name: lines for name, lines in lists.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "A = ('torch', 'jax', 'cupy')",
        "A = {'pytorch': 1, 'jax': 2, 'ONNX Runtime': 3}",
        "A = ['jax.*', 'torch', 'cupy.*']",
    ],
)
def test_a_list_would_be_found(source: str) -> None:
    assert _lists(source, NAMES, 3) == [1]


def test_the_exceptions_are_still_some() -> None:
    assert all(_lists((ROOT / name).read_text(encoding="utf-8"), NAMES, 3) for name in PARTICULAR)


def test_each_framework_has_its_parts() -> None:
    for one in FRAMEWORKS:
        assert (ROOT / f"probes/frameworks/{one.module}.py").is_file()
        assert (ROOT / f"workers/ask_{one.module}.py").is_file()
        backend = importlib.util.find_spec(f"gpudoctor.workers.smoke.backends.{one.area}")
        assert (backend is not None) is (one.smoke_order is not None)
        assert any(id_.startswith(f"{one.area}.") for id_ in checks.ids())
    assert sorted(one.import_order for one in FRAMEWORKS) == list(range(1, len(FRAMEWORKS) + 1))
    assert len({area.name for area in AREAS}) == len(AREAS)


# A framework that there is not, put into the registry before anything else reads it.
NEW = """
from gpudoctor import registry
new = registry.KnownFramework(
    "mlx", "mlx", "MLX", "/mlx/", "import mlx", "import mlx; print(1)", None,
    import_order=9, smoke_order=9, aliases=("ml-x",),
)
registry.FRAMEWORKS += (new,)
registry.BY_MODULE["mlx"] = registry.BY_AREA["mlx"] = new
registry.SMOKED += (new,)
registry.AREAS += (registry.Area("mlx", framework="mlx"),)

from gpudoctor import areas
from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.probes.frameworks.discovery import NAMES
from gpudoctor.probes.host.directories import SHADOWS
from gpudoctor.requirements.demands import DEMANDS
from gpudoctor.root_causes import PLACES
from gpudoctor.setup.conflicts import on_amd, on_cpu
from gpudoctor.setup.plan import TargetPlatform
from gpudoctor.setup.request import requested
from gpudoctor.smoketests.options import BACKENDS
from gpudoctor.smoketests.plan import TITLES
from gpudoctor.targets import framework_name

found = Framework(name="mlx", version="1.0", variant="cuda")
facts = Facts(pythons=(Python(path="/p", frameworks=(found,)),))
assert areas.concerning(facts)("mlx.no-gpu") and not areas.concerning(Facts())("mlx.no-gpu")
assert framework_proof(facts.pythons[0]).argv == ("/p", "-c", "import mlx; print(1)")
assert "mlx" == NAMES[-1] and "mlx" in SHADOWS and "mlx" in PLACES and "mlx" in BACKENDS
assert {"mlx", "mlx_sees"} <= set(DEMANDS)
assert requested(["MLX", "ml-x"]).frameworks == ("mlx",)
assert framework_name(found) == "MLX 1.0" and TITLES["mlx"] == "MLX"
assert on_cpu(TargetPlatform(), "mlx", None).why.startswith("MLX ") and "MLX" in on_amd(TargetPlatform(), "mlx").why
print("known")
"""


def test_a_new_framework_is_known_wherever_frameworks_are() -> None:
    ended = subprocess.run([sys.executable, "-c", NEW], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("known\n", "")
