"""Whether the unpacked files of a package have a name, or a function of theirs an argument; nothing of them is run."""

import ast
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from typing import TypeGuard

_EXTENSIONS = (".so", ".pyd")
_DEEPEST = 8  # imports of imports, and bases of bases


class SourceModule(msgspec.Struct, frozen=True):
    """A module of the unpacked package.

    Attributes:
        name: the whole path, "moviepy.video".
        file: its source; "" for one that is compiled, or a directory without __init__.py.
        compiled: whether its names are in machine code, and not to be read.
        package: whether it has modules of its own.
    """

    name: str
    file: str = ""
    compiled: bool = False
    package: bool = False


class PublicNames:
    """The names of a package in a directory, as `import` finds them there.

    Args:
        folder: what holds the top modules, as site-packages does.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._module = cache(self._module_of)
        self._tree = cache(_parsed)

    @property
    def compiled(self) -> bool:
        """Whether a file in the directory is machine code."""
        return any(file.endswith(_EXTENSIONS) for _, _, files in os.walk(self._folder) for file in files)

    def has(self, name: str) -> bool:
        """Whether a module, or a name in one, is there: "moviepy.editor", "scipy.integrate.simps".

        What is compiled counts as there, since only running it would tell.
        """
        module, rest = self._split(name.split("."))
        if module is None or not rest or module.compiled:
            return module is not None
        return self._defines(module, rest[0], _DEEPEST)

    def takes(self, name: str, argument: str) -> bool:
        """Whether a function, or a class as it is made, takes a keyword argument; what is not found takes none."""
        module, rest = self._split(name.split("."))
        if module is None or not rest:
            return False
        found = self._definition(module, rest[0], _DEEPEST)
        for inside in rest[1:]:
            found = next(((where, one) for where, one in _within(found) if one.name == inside), None)
        return found is not None and self._accepts(*found, argument, _DEEPEST)

    def _split(self, parts: Sequence[str]) -> tuple[SourceModule | None, Sequence[str]]:
        """The longest leading part that is a module, and what is left of the path."""
        found, taken = None, 0
        for end in range(1, len(parts) + 1):
            module = self._module(".".join(parts[:end]))
            if module is None:
                break
            found, taken = module, end
        return found, parts[taken:]

    def _module_of(self, name: str) -> SourceModule | None:
        base = os.path.join(self._folder, *name.split("."))
        if os.path.isfile(f"{base}/__init__.py"):
            return SourceModule(name, f"{base}/__init__.py", package=True)
        if os.path.isfile(f"{base}.py"):
            return SourceModule(name, f"{base}.py")
        if any(one.endswith(_EXTENSIONS) for one in _beside(base)):
            return SourceModule(name, compiled=True)
        return SourceModule(name, package=True) if os.path.isdir(base) else None

    def _defines(self, module: SourceModule, name: str, depth: int) -> bool:
        if module.package and self._module(f"{module.name}.{name}"):
            return True
        tree = self._tree(module.file) if module.file else None
        if tree is None or not depth:
            return False
        for node in _statements(tree, typing=False):
            if name in _bound(node):
                return True
            if isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names):
                source = self._module(_absolute(module, node))
                if source and (source.compiled or self._defines(source, name, depth - 1)):
                    return True
        return _is_lazy(tree) and self._lazily(module, tree, name)

    def _lazily(self, module: SourceModule, tree: ast.Module, name: str) -> bool:
        """Whether a module that loads names at their first use knows this one: it lists it, or one below defines it.

        One below whose names are listed does not count: what the list leaves out is not exported any more.
        """
        if any(isinstance(node, ast.Constant) and node.value == name for node in ast.walk(tree)):
            return True
        below = os.path.dirname(module.file) if module.package else ""
        for folder, _, files in os.walk(below) if below else ():
            for file in files:
                inner = self._tree(os.path.join(folder, file)) if file.endswith(".py") else None
                defines = inner and any(isinstance(n, _DEFINITIONS) and n.name == name for n in inner.body)
                if defines and not self._lists(folder, file.removesuffix(".py")):
                    return True
        return False

    def _lists(self, folder: str, module: str) -> bool:
        """Whether the package in a directory lists what one of its modules exports, by the module's name."""
        around = self._tree(os.path.join(folder, "__init__.py"))
        return around is not None and any(
            isinstance(node, ast.Constant) and node.value == module for node in ast.walk(around)
        )

    def _definition(self, module: SourceModule, name: str, depth: int) -> "tuple[SourceModule, _Definition] | None":
        """The class or function behind a name, and the module in which it is written."""
        tree = self._tree(module.file) if module.file else None
        if tree is None or not depth:
            return None
        for node in _statements(tree):
            if isinstance(node, _DEFINITIONS) and node.name == name:
                return module, node
            if isinstance(node, ast.ImportFrom):
                asked = [one.name for one in node.names if name == (one.asname or one.name)]
                star = any(one.name == "*" for one in node.names)
                source = self._module(_absolute(module, node)) if asked or star else None
                found = self._definition(source, asked[0] if asked else name, depth - 1) if source else None
                if found:
                    return found
        return None

    def _accepts(self, module: SourceModule, node: "_Definition", argument: str, depth: int) -> bool:
        if not isinstance(node, ast.ClassDef):
            return argument in _arguments(node)
        inside = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        for maker in ("__init__", "__new__"):
            if maker in inside and argument in _arguments(inside[maker]):
                return True
        if any("dataclass" in ast.dump(one) for one in node.decorator_list) or "__init__" not in inside:
            fields = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
            if any(isinstance(field, ast.Name) and field.id == argument for field in fields):
                return True
        if "__init__" in inside and not inside["__init__"].args.kwarg:
            return False
        for base in node.bases if depth else ():
            name = ast.unparse(base).rpartition(".")[2]
            found = self._definition(module, name, depth)
            if found and self._accepts(*found, argument, depth - 1):
                return True
        return False


_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _parsed(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _beside(base: str) -> list[str]:
    """The files in a directory that are called like a module, with anything behind a dot."""
    folder, _, name = base.rpartition("/")
    try:
        return [one for one in os.listdir(folder) if one.startswith(f"{name}.")]
    except OSError:
        return []


def _statements(tree: ast.AST, typing: bool = True) -> Iterator[ast.stmt]:
    """The statements of a module's top, those below if, try and with too; those for type checkers where wanted."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and not typing and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (one for part in node.orelse for one in _statements(ast.Module([part], []), typing))
        elif isinstance(node, ast.stmt):
            yield node
            if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
                yield from _statements(node, typing)
        elif isinstance(node, ast.ExceptHandler):
            yield from _statements(node, typing)


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value to."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Import):
        yield from (one.asname or one.name.partition(".")[0] for one in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (one.asname or one.name for one in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (one.id for target in targets for one in ast.walk(target) if _is_set(one))


def _is_set(node: ast.AST) -> "TypeGuard[ast.Name]":
    """Whether it is a name that gets a value: of `found[key] = 1` none does."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _is_lazy(tree: ast.Module) -> bool:
    """Whether a module makes names when they are asked for: by a `__getattr__`, or by an object in its own place."""
    if any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in _statements(tree)):
        return True
    places = (target for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets)
    return any(ast.unparse(target).startswith(("sys.modules[", "__getattr__")) for target in places) or any(
        isinstance(node, ast.Tuple) and "__getattr__" in (getattr(one, "id", "") for one in node.elts)
        for node in ast.walk(tree)
    )


def _absolute(module: SourceModule, node: ast.ImportFrom) -> str:
    """The whole path of the module from which names are imported."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    up = node.level - 1 if module.package else node.level
    kept = parts[: len(parts) - up] if up else parts
    return ".".join([*kept, *((node.module,) if node.module else ())])


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]


def _within(found: "tuple[SourceModule, _Definition] | None") -> "Iterator[tuple[SourceModule, _Definition]]":
    """The classes and functions in the body of a class."""
    if found and isinstance(found[1], ast.ClassDef):
        yield from ((found[0], one) for one in found[1].body if isinstance(one, _DEFINITIONS))
