"""Puts a mutant into a process: into the functions that are imported already, or into the file when it is imported."""

import gc
import inspect
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

from scripts.mutating.mutants import Mutant


class Planted(NamedTuple):
    """A mutant, compiled.

    Attributes:
        mutant: the change.
        function: the outermost function that it is in, as it becomes; None where it is code that runs at import.
        lines: those of the function as it is.
    """

    mutant: Mutant
    function: CodeType | None
    lines: frozenset[int]


def compiled(root: Path, one: Mutant) -> Planted | None:
    """Compile a mutant; None where the change is none, or no Python."""
    path = root / one.path
    plain = path.read_bytes()
    try:
        made = compile(one.of(plain), str(path), "exec")
    except SyntaxError:
        return None
    changed = list(_changed(compile(plain, str(path), "exec"), made))
    if not changed:
        return None
    old, new = changed[0]
    if len(changed) > 1 or not old.co_flags & inspect.CO_OPTIMIZED:
        return Planted(one, None, frozenset())
    return Planted(one, new, frozenset(_lines(old)) - {old.co_firstlineno})


def _changed(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The outermost code that differs; a class or a module differs only in what runs when it is imported."""
    mine, yours = (tuple(c for c in code.co_consts if isinstance(c, CodeType)) for code in (old, new))
    if _own(old) != _own(new) or len(mine) != len(yours):
        yield old, new
        return
    inner = [pair for a, b in zip(mine, yours, strict=True) for pair in _changed(a, b)]
    if inner and old.co_flags & inspect.CO_OPTIMIZED:
        yield old, new
    else:
        yield from inner


def _own(code: CodeType) -> tuple[object, ...]:
    plain = [(type(c), repr(c)) for c in code.co_consts if not isinstance(c, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, plain


def _lines(code: CodeType) -> Iterator[int]:
    yield from (line for *_, line in code.co_lines() if line)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _lines(one)


def plant(root: Path, one: Planted) -> bool:
    """Change the functions of this process; whether there are any."""
    functions = [f for f in gc.get_objects() if isinstance(f, FunctionType) and _is(f.__code__, one, root)]
    for function in functions:
        function.__code__ = one.function or function.__code__
    return bool(functions)


def _is(code: CodeType, one: Planted, root: Path) -> bool:
    made = one.function
    named = made and (code.co_qualname, code.co_firstlineno) == (made.co_qualname, made.co_firstlineno)
    return bool(named) and Path(code.co_filename).resolve() == root / one.mutant.path


def plant_at_import(root: Path, one: Mutant) -> None:
    """Let this process, which has not yet imported the file, import the mutant."""
    path = root / one.path
    plain = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        name = self.get_filename(fullname)
        if Path(name).resolve() != path:
            return plain(self, fullname)
        return compile(one.of(path.read_bytes()), name, "exec")

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
