"""The report of each machine of tests/machines and of demos: worked out when a test first asks for it, and once."""

from functools import cache, partial

from gpudoctor import check, demo
from gpudoctor.report.model import Report
from tests.machines.registry import machines

_MAKE = {one.name: one.make for one in machines()}
_MAKE |= {f"demo {name}": partial(demo.load, name) for name in ("bad-link", "cpu-wheel", "mismatch")}
MACHINES = tuple(_MAKE)


@cache
def of_machine(name: str) -> Report:
    """The report of the machine of this name."""
    return check(facts=_MAKE[name]())
