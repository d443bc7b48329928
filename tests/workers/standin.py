"""A teller that keeps what it is told, and stand-ins for frameworks made of plain attributes."""

from types import SimpleNamespace
from typing import Any

from gpudoctor.workers.common import Teller


class Kept(Teller):
    """Keeps the facts instead of writing them."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.stages: list[str] = []

    def tell(self, **facts: Any) -> None:
        if "stage" in facts:
            self.stages.append(facts["stage"])
        self.said.update(facts)


def module(**attributes: Any) -> Any:
    """A stand-in; a dotted name cannot be a keyword, so `cuda__init` is cuda.init."""
    top = SimpleNamespace()
    for path, value in attributes.items():
        place = top
        *parents, last = path.split("__")
        for part in parents:
            if not hasattr(place, part):
                setattr(place, part, SimpleNamespace())
            place = getattr(place, part)
        setattr(place, last, value)
    return top


def raises(error: Exception) -> Any:
    """A function that raises."""

    def call(*_arguments: Any, **_named: Any) -> Any:
        raise error

    return call
