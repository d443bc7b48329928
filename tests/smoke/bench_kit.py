"""A bench on NumPy whose teller keeps what it is told, and a clock that does not wait."""

import base64
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from gpudoctor.workers.smoke.backends.base import Base
from gpudoctor.workers.smoke.backends.cpu import CpuBackend as Cpu
from gpudoctor.workers.smoke.runner import Bench
from gpudoctor.workers.smoke.timing import Samples
from gpudoctor.workers.smoke.weights import Weights


class Kept:
    """A teller that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def tell(self, **facts: Any) -> None:
        self.lines.append(facts)

    @staticmethod
    def full_text(error: BaseException) -> str:
        return f"{type(error).__name__}: {error}"


class Device(Cpu):
    """NumPy that passes for a GPU with so much free memory, and that has the data types it is said to have."""

    kind = "cuda"
    has: tuple[str, ...] = ("fp32",)
    room = 4 << 30

    def __init__(self, **attributes: Any) -> None:
        super().__init__({})
        for name, value in attributes.items():
            setattr(self, name, value)

    def free(self) -> int:
        return self.room

    def dtypes(self) -> tuple[str, ...]:
        return self.has


class Done:
    """A test's result as the worker tells it."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.outcome, self.message, self.notes = result["outcome"], result["message"], result["notes"]
        self.variant, self.result = result["variant"], result
        self.figures = {figure["name"]: figure["value"] for figure in result["figures"]}
        self.units = {figure["name"]: figure["unit"] for figure in result["figures"]}
        self.samples = {figure["name"]: figure["samples"] for figure in result["figures"]}


IMAGES = 16


@cache
def digits() -> dict[str, str]:
    """Some images of noise and their labels."""
    chance = random.Random(1)
    images = bytes(chance.randrange(256) for _ in range(784 * IMAGES))
    labels = bytes(at % 10 for at in range(IMAGES))
    return {"images": base64.b64encode(images).decode(), "labels": base64.b64encode(labels).decode()}


first_weights = cache(Weights)


def bench(backend: Base | None = None, **task: Any) -> Bench:
    """A bench with this backend; without one on the CPU."""
    made = Bench(Kept(), backend or Cpu({}), {"digits": digits(), "dtypes": [], **task})
    made.kept("weights", first_weights)  # by counting in Python they take a tenth of a second
    return made


def results(run: Callable[[Bench], None], on: Bench) -> list[Done]:
    """Run a test, and give what it told."""
    on.run(run.__module__.rpartition(".")[2].replace("_", "-"), run)
    return [Done(line["result"]) for line in reported(on) if "result" in line]


def reported(on: Bench) -> list[dict[str, Any]]:
    """The lines that were told."""
    teller: Kept = on._teller
    return teller.lines


def quick(on: Bench, call: Callable[[], Any]) -> Samples:
    """In place of `measure`: three calls, of which one takes 2 ms in the median."""
    for _ in range(3):
        call()
    on.timed(0.0, 1.0)
    return Samples([0.001, 0.002, 0.004], 0.1, 0.0, 1.0)
