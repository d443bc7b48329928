"""The machines by name, as their families register them."""

import importlib
import pkgutil
from collections.abc import Callable
from typing import NamedTuple

from gpudoctor.facts import Facts

Make = Callable[[], Facts]


class Machine(NamedTuple):
    """A whole machine.

    Attributes:
        name: its text is texts/NAME.txt.
        make: gives its facts.
        root: the id of the check that names its root cause; None: it is healthy, and nothing may fail or warn.
    """

    name: str
    make: Make
    root: str | None


FOUND: dict[str, Machine] = {}


def machine(root: str | None = None) -> Callable[[Make], Make]:
    """Register a machine by the name of its function.

    Args:
        root: the id of the check that names its root cause; None: it is healthy.

    Raises:
        ValueError: there is one of this name.
    """

    def register(make: Make) -> Make:
        add(make.__name__.replace("_", "-"), make, root)
        return make

    return register


def add(name: str, make: Make, root: str | None = None) -> None:
    """Register a machine by a name.

    Raises:
        ValueError: there is one of this name.
    """
    if name in FOUND:
        raise ValueError(f"two machines are called {name}")
    FOUND[name] = Machine(name, make, root)


def machines() -> list[Machine]:
    """All of them, by name."""
    package = importlib.import_module("tests.machines")
    for module in pkgutil.iter_modules(package.__path__, "tests.machines."):
        if not module.name.rpartition(".")[2].startswith(("test_", "registry")):
            importlib.import_module(module.name)
    return [FOUND[name] for name in sorted(FOUND)]
