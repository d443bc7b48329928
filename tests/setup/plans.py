"""Plans, and what is asked of them."""

from gpudoctor.facts import Facts
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.setup.planner import plan
from gpudoctor.setup.request import SetupRequest
from tests.machines.registry import machines


def made(facts: object, *names: str, **options: object) -> Plan:
    return plan(facts, SetupRequest(frameworks=names, **options))  # type: ignore[arg-type]


def wheels(one: Plan) -> dict[str, str]:
    return {w.framework: w.requirement for w in one.wheels}


def refused(one: Plan) -> dict[str, str]:
    return {r.requested: r.why for r in one.refused}


def step(one: Plan, id_: str) -> SetupStep:
    return next(s for s in one.steps if s.id == id_)


def known(name: str) -> Facts:
    return next(m.make() for m in machines() if m.name == name)
