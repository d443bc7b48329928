"""The house rules that no linter knows: sizes, texts, one check a file, a test for each, imports that point down."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import catalogue, checks
from tests.at_once import at_once

ROOT = Path(gpudoctor.__file__).parent.parent
LONGEST = 400
# What a check may import of the standard library: nothing that looks at the machine, the clock or the network.
PURE = {"collections", "dataclasses", "datetime", "enum", "fnmatch", "functools", "itertools", "math", "re", "typing"}
PURE |= {"posixpath", "shlex", "string", "textwrap"}
DOCSTRING = re.compile(r'(?:#.*\n)*r?"""(.*?)(?:"""|\n)')  # a module's, as far as its first line


def _files(*tops: str) -> list[Path]:
    return sorted(p for top in tops for p in (ROOT / top).rglob("*.py") if "__pycache__" not in p.parts)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


CODE = [p for p in _files("gpudoctor", "checks") if not _name(p).startswith("gpudoctor/checks/")]
EVERYTHING = CODE + _files("tests", "docs", "benchmarks")
CHECKS = [p for p in _files("checks") if not p.name.startswith("_")]


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _tree(path: Path) -> ast.Module:
    """Its syntax tree, which takes seconds for all two thousand files: for those whose text gives cause."""
    return ast.parse(_text(path))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_no_file_is_longer_than_a_reader_stands() -> None:
    lengths = {_name(p): len(_text(p).splitlines()) for p in EVERYTHING}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_every_module_says_its_job_in_a_sentence() -> None:
    first = {_name(p): DOCSTRING.match(_text(p)) for p in EVERYTHING}
    assert [name for name, line in first.items() if line is None or not line[1].endswith((".", "?"))] == []


def test_nobody_imports_the_second_copy_of_the_checks() -> None:
    named = [p for p in EVERYTHING if re.search(r"(from|import) +checks\b", _text(p))]
    wrong = {_name(p): [m for m in _imports(_tree(p)) if m.split(".")[0] == "checks"] for p in named}
    assert {name: modules for name, modules in wrong.items() if modules} == {}


def test_nothing_is_imported_from_a_relative_place() -> None:
    """The workers' scripts alone do so: in the examined interpreter their package has another name."""
    code = [p for p in CODE if not _name(p).startswith("gpudoctor/workers/smoke") and re.search(r"from +\.", _text(p))]
    wrong = {_name(p): [m for m in _imports(_tree(p)) if m.startswith(".")] for p in code}
    assert {name: modules for name, modules in wrong.items() if modules} == {}


def _is_of_a_family(node: ast.Assign) -> bool:
    """Whether a function of gpudoctor.families makes the check; it takes the module's name, which is the id."""
    return isinstance(node.value, ast.Call) and any(ast.unparse(a) == "__name__" for a in node.value.args)


@at_once(CHECKS)
def test_a_check_file_holds_one_check_of_its_name_and_only_judges(path: Path) -> None:
    functions = [n for n in _tree(path).body if isinstance(n, ast.FunctionDef)]
    marked = [f for f in functions if any(ast.unparse(d).startswith("check(") for d in f.decorator_list)]
    of_family = [n for n in _tree(path).body if isinstance(n, ast.Assign) and _is_of_a_family(n)]
    assert [f.name for f in marked] + [ast.unparse(n.targets[0]) for n in of_family] == [path.stem]
    assert all(ast.get_docstring(f) for f in marked)
    outside = {m for m in _imports(_tree(path)) if m.split(".")[0] not in PURE | {"gpudoctor", "msgspec", "packaging"}}
    assert outside == set()
    called = {n.func.id for n in ast.walk(_tree(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not called & {"open", "eval", "exec", "__import__", "input", "print"}


def test_every_area_is_a_package() -> None:
    assert {p.parent for p in CHECKS} <= {p.parent for p in _files("checks") if p.name == "__init__.py"}


def test_every_check_has_a_test() -> None:
    texts = "\n".join(p.read_text(encoding="utf-8") for p in _files("tests/checks") if p.name.startswith("test_"))
    words = set(re.findall(r"[a-z][a-z0-9_]*", texts)) | set(re.findall(r"[a-z]+\.[a-z0-9-]+", texts))
    names = {id_: id_.partition(".")[2].replace("-", "_") for id_ in checks.ids()}
    assert [id_ for id_, name in names.items() if name not in words and id_ not in words] == []


def test_no_two_checks_are_told_by_the_same_title() -> None:
    titles: dict[str, str] = {}
    for one in catalogue.load(checks.ids()):
        assert titles.setdefault(one.title, one.id) == one.id, f"{one.id} has the title of {titles[one.title]}"


def _lint(folder: Path) -> "subprocess.CompletedProcess[str]":
    code = "import sys; from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)


def test_imports_point_down_only() -> None:
    pytest.importorskip("importlinter")
    ended = _lint(ROOT)
    assert ended.returncode == 0, ended.stdout


# Modules with an import that they must not have, and the rule that says so.
FORBIDDEN = (
    ("gpudoctor.checks.driver.not_loaded", "os", "Checks judge facts and never look"),
    ("gpudoctor.checks.driver.not_loaded", "gpudoctor.machine", "Checks judge facts and never look"),
    ("gpudoctor.checks.driver.not_loaded", "gpudoctor.probes.pci", "Imports point down only"),
    ("gpudoctor.check_engine", "gpudoctor.report.model", "Imports point down only"),
    ("gpudoctor.tui.session", "gpudoctor.probes.pci", "The application never looks itself"),
    ("gpudoctor.report.build", "rich", "Only the faces load rich and textual"),
    ("gpudoctor.pipeline", "torch", "Only the scripts for other interpreters import frameworks"),
    ("gpudoctor.workers.ask", "gpudoctor.maybe", "Scripts for other interpreters do not know gpudoctor"),
)


def test_the_import_rules_can_fail(tmp_path: Path) -> None:
    pytest.importorskip("importlinter")
    shutil.copytree(ROOT / "gpudoctor", tmp_path / "gpudoctor", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, other, _ in FORBIDDEN:
        with (tmp_path / f"{module.replace('.', '/')}.py").open("a") as changed:
            changed.write(f"import {other}\n")
    ended = _lint(tmp_path)
    assert ended.returncode == 1
    reported = ended.stdout.partition("\nBroken contracts\n")[2]
    for module, other, rule in FORBIDDEN:
        assert f"{rule} BROKEN" in ended.stdout
        section = re.split(r"\n\n\n?(?=\S.*\n-{5,}\n)", reported.partition(f"\n{rule}\n---")[2])[0]
        assert f" {module} -> {other} (l." in section, (rule, module, other)
