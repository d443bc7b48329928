"""Where a check is in the code: its rule, and the probes that fill the facts which it and its targets read.

The rule is followed through the functions that it calls, down to the parts of `Facts` that they name; what its fixes
read does not count.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from gpudoctor import probes
from gpudoctor.check_engine import Check
from gpudoctor.facts import Facts

_FIELDS = frozenset(Facts.__struct_fields__)


def rule_files(one: Check[Any]) -> tuple[str, ...]:
    """The file of a check, and that of its rule where several checks share one, from the top of the source tree."""
    own, module = f"checks/{one.id.replace('.', '/').replace('-', '_')}.py", one.function.__module__
    rule = module.replace(".", "/") + ".py"
    if module.startswith("gpudoctor.checks."):
        return (own,)
    return (own, rule) if module.startswith("gpudoctor.") else (rule,)  # another package's


def sources(one: Check[Any]) -> dict[str, tuple[str, ...]]:
    """The parts of the facts that a check reads, each with the modules that fill it, in the order of `Facts`."""
    filled = probes.filled_by()
    read = {part for function in _reached(one) for part in _read(function)}
    order = list(Facts.__struct_fields__)
    return {part: filled[part] for part in sorted(read, key=lambda part: (order.index(part.partition(".")[0]), part))}


def module_file(module: str) -> str:
    """Where a module of gpudoctor is in a checkout: a file, or the directory of a package."""
    path = module.replace(".", "/")
    return path if (Path(__file__).parents[1] / path / "__init__.py").exists() else path + ".py"


def page(one: Check[Any], width: int) -> str:
    """What `gpudoctor explain ID --verbose` prints of it."""
    rows = {"rule": rule_files(one)}
    rows |= {part: tuple(map(module_file, modules)) for part, modules in sources(one).items()}
    wide = max(map(len, rows)) + 2
    lines = [
        textwrap.fill(", ".join(files), width, initial_indent=f"  {name:<{wide}}", subsequent_indent=" " * (wide + 2))
        for name, files in rows.items()
    ]
    return "\n".join(["", "The rule, and the facts that it reads with the probes that fill them", *lines, ""])


def _reached(one: Check[Any]) -> Iterator[Callable[..., Any]]:
    """The functions of gpudoctor that judging calls, fixes excepted."""
    left, seen = _followed((one.function, one.targets)), set[Callable[..., Any]]()
    while left:
        function = left.pop()
        if function not in seen:
            seen.add(function)
            yield function
            left += _called(function)


def _followed(parts: Iterable[Any]) -> list[Callable[..., Any]]:
    """The functions among these that are followed: gpudoctor's own but for those of fixes."""
    found: list[Callable[..., Any]] = []
    for part in parts:
        while isinstance(part, partial):
            part = part.func
        part = inspect.unwrap(part)
        if inspect.isfunction(part):
            module = part.__module__
            if module.startswith("gpudoctor.") and not module.startswith("gpudoctor.fixes"):
                found.append(part)
    return found


@cache
def _called(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    return _followed({id(part): part for name in _named(function) for part in _functions(name)}.values())


def _named(function: Callable[..., Any]) -> Iterator[Any]:
    """What a function's text names: of its module, of what encloses it, and the attributes of these."""
    inner = inspect.getclosurevars(function).nonlocals
    scope = {**function.__globals__, **inner, **_imported(function)}
    for node in ast.walk(_tree(function)):
        if isinstance(node, ast.Name):
            yield scope.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield getattr(scope.get(node.value.id), node.attr, None)


def _imported(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function imports of gpudoctor when it is called."""
    found = {}
    for node in ast.walk(_tree(function)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpudoctor."):
            module = import_module(str(node.module))
            for one in node.names:
                found[one.asname or one.name] = getattr(module, one.name, None)
    return found


def _functions(thing: Any) -> Iterable[Any]:
    """The functions in something that has a name: itself, the methods of a class, the members of a table."""
    if isinstance(thing, type):
        methods = vars(thing).values() if thing.__module__.startswith("gpudoctor.") else ()
        return [getattr(method, "fget", method) for method in methods]
    if isinstance(thing, Check):
        return [thing.function, thing.targets]
    if isinstance(thing, msgspec.Struct):
        return msgspec.structs.astuple(thing)
    if isinstance(thing, Mapping):
        return [part for value in thing.values() for part in (value if isinstance(value, tuple) else (value,))]
    return thing if isinstance(thing, tuple) else [thing]


@cache
def _tree(function: Callable[..., Any]) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


@cache
def _read(function: Callable[..., Any]) -> frozenset[str]:
    """The parts of the facts that a function's text names: `facts.nvidia.kernel`, or by a variable that holds one."""
    tree, parts = _tree(function), probes.filled_by()
    held = {"facts": ""}  # variables that hold the facts, or a part of them
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None and ast.unparse(node.annotation) == "Facts":
            held[node.arg] = ""

    def path(node: ast.AST) -> str | None:
        if isinstance(node, ast.Name):
            return held.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        if node.attr in ("facts", "frameworks"):  # of a target; of any interpreter
            return "" if node.attr == "facts" else "pythons.frameworks"
        base = path(node.value)
        whole = node.attr if base == "" else f"{base}.{node.attr}"
        return whole if base is not None and (whole in parts or whole in _FIELDS) else None

    passed: set[ast.AST] = set()  # what only leads on to something else
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found = path(node.value)
            if found is not None:
                held[node.targets[0].id] = found
                passed.add(node.value)
    passed |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and path(node) is not None}
    loaded = (node for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Load))
    return frozenset(found for node in loaded if node not in passed and (found := path(node)) in parts)
