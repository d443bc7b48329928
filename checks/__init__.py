"""The checks: one file, one check; its path is its id. Nothing has to be listed anywhere."""

import os
from functools import cache
from importlib import import_module
from typing import Any

from gpudoctor.check_engine import Check


def ids() -> list[str]:
    """The ids of all checks of this package, in order, from the names of their files; nothing is imported."""
    return [*_listed()]


@cache
def _listed() -> tuple[str, ...]:
    found = []
    for folder in __path__:
        for area in os.scandir(folder):
            if area.is_dir() and area.name.isidentifier() and not area.name.startswith("_"):
                names = (n[:-3] for n in os.listdir(area.path) if n.endswith(".py") and not n.startswith("_"))
                found += [f"{area.name}.{name}".replace("_", "-") for name in names]
    return tuple(sorted(found))


@cache
def load_one(id_: str) -> Check[Any]:
    """Import one check by its id.

    Raises:
        ImportError: there is no such file, or it does not import.
        AttributeError: the file holds no check of its own name.
        TypeError: what it holds is no check.
    """
    area, name = id_.replace("-", "_").split(".")
    found = getattr(import_module(f"{__name__}.{area}.{name}"), name)
    if not isinstance(found, Check):
        raise TypeError(f"{id_} holds a {type(found).__name__}, no check")
    return found
