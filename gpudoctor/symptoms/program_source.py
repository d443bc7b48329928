"""What a program's own file says of a call in it: from which package the function is imported."""

import ast
from collections.abc import Iterator

_LARGEST = 1 << 20  # bytes of a program


def called(path: str, name: str, argument: str) -> str:
    """The whole path of a function, or of a class that is made, which a program calls with an argument.

    Args:
        path: the program, a file that is only read.
        name: as the error has it: "SFTTrainer", "Model.forward".
        argument: the keyword argument of the call.

    Returns:
        "trl.SFTTrainer"; "" where the file cannot be read, or has no such call of something that it imports.
    """
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(_LARGEST))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    imported = dict(_imported(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or argument not in (one.arg for one in node.keywords):
            continue
        head, *rest = _dotted(node.func)
        found = ".".join([imported.get(head, ""), *rest])
        if head in imported and name.partition(".")[0] in found.split("."):
            return found
    return ""


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a program imports, with their whole paths; those of its own packages (from . import x) not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2 for one in node.names
            )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def _dotted(node: ast.expr) -> list[str]:
    """The parts of "a.b.c"; [""] where it is more than names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else [""]
