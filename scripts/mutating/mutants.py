"""Mutants: small wrong changes of a source file, each of which some test should notice."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

FLIPPED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
SEVERITIES = {"ERROR": "WARNING", "WARNING": "ERROR", "ADVICE": "WARNING"}
GROUPS = "cause_groups.py"  # how the files end whose tuples stand in caused_by
Span = tuple[int, int]


class Mutant(NamedTuple):
    """One change.

    Attributes:
        path: of the file, relative to the tree.
        operator: what kind of change it is.
        line: where it is.
        before: the text that is replaced.
        after: what stands there instead.
        span: where, in bytes.
    """

    path: Path
    operator: str
    line: int
    before: str
    after: str
    span: Span

    def __str__(self) -> str:
        before, after = (" ".join(text.split())[:70] for text in (self.before, self.after))
        return f"{self.path}:{self.line}: {self.operator}: {before!r} -> {after!r}"

    def of(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.span[0]] + self.after.encode() + source[self.span[1] :]


class _Source:
    """A file, and where its nodes stand in bytes."""

    def __init__(self, path: Path, relative: Path) -> None:
        self.path, self.bytes = relative, path.read_bytes()
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(self.bytes)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        end = self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return self.starts[node.lineno - 1] + node.col_offset, end

    def text(self, span: Span) -> str:
        return self.bytes[span[0] : span[1]].decode()

    def mutant(self, operator: str, line: int, span: Span, after: str) -> Mutant:
        return Mutant(self.path, operator, line, self.text(span), after, span)


Operator = Callable[[_Source, ast.AST], Iterator[Mutant]]


def _between(source: _Source, left: ast.expr, right: ast.expr) -> Span:
    return source.span(left)[1], source.span(right)[0]


def _comparison(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in FLIPPED:
        span = _between(source, node.left, node.comparators[0])
        if not set("()") & set(source.text(span)):
            yield source.mutant("comparison", node.lineno, span, f" {FLIPPED[type(node.ops[0])]} ")


def _not(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield source.mutant("not", node.lineno, source.span(node), source.text(source.span(node.operand)))


def _and_or(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    if isinstance(node, ast.BoolOp):
        word = ("or", "and") if isinstance(node.op, ast.Or) else ("and", "or")
        span = _between(source, node.values[0], node.values[1])
        if source.text(span).split() == [word[0]]:
            yield source.mutant("and/or", node.lineno, span, source.text(span).replace(*word))


def _constant(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
        if isinstance(node.value, int):
            yield source.mutant("constant", node.lineno, source.span(node), repr(node.value + 1))
        elif isinstance(node.value, float):
            yield source.mutant("constant", node.lineno, source.span(node), repr(node.value * 2 or 1.0))


def _early(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    if isinstance(node, ast.FunctionDef) and any(isinstance(n, ast.Return) and n.value for n in ast.walk(node)):
        first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
        start = source.span(first)[0]
        if not isinstance(first, ast.FunctionDef | ast.ClassDef) and source.text((start, start + 11)) != "return None":
            yield source.mutant("early return", node.lineno, (start, start), f"return None\n{' ' * first.col_offset}")


def _cause(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    named = isinstance(node, ast.keyword) and node.arg == "caused_by"
    grouped = isinstance(node, ast.Assign) and source.path.name.endswith(GROUPS)
    found = node.value if isinstance(node, ast.keyword | ast.Assign) and (named or grouped) else None
    if isinstance(found, ast.Tuple) and len(found.elts) > 1:
        for one in found.elts:
            others = [source.text(source.span(other)) for other in found.elts if other is not one]
            made = source.mutant("caused_by", one.lineno, source.span(found), f"({', '.join(others)},)")
            yield made._replace(before=source.text(source.span(one)))


def _words(source: _Source, node: ast.AST) -> Iterator[Mutant]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Severity":
        after = f"Severity.{SEVERITIES[node.attr]}" if node.attr in SEVERITIES else ""
        if after:
            yield source.mutant("severity", node.lineno, source.span(node), after)
    if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
        value, span = node.value.value, source.span(node.value)
        if node.arg == "root" and value is True:
            yield source.mutant("root", node.value.lineno, span, "False")
        elif node.arg == "needs" and isinstance(value, str):
            yield source.mutant("needs", node.value.lineno, span, "None")
        elif node.arg == "impact" and isinstance(value, str):
            yield source.mutant("impact", node.value.lineno, span, '"none"' if value != "none" else '"reversible"')


OPERATORS: tuple[Operator, ...] = (_comparison, _not, _and_or, _constant, _early, _cause, _words)


def mutants(tree: Path, path: Path) -> list[Mutant]:
    """All mutants of one file.

    Args:
        tree: the root of the checkout.
        path: the file, relative to it.
    """
    source = _Source(tree / path, path)
    return [made for node in ast.walk(source.tree) for operator in OPERATORS for made in operator(source, node)]
