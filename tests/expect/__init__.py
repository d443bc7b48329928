"""Expectations: read, held, explained, and written from machines that are well."""

from gpudoctor.check_engine import run
from gpudoctor.expect.loader import loads
from gpudoctor.facts import Facts


def asked(text: str, facts: Facts) -> list[tuple[str, str]]:
    """Outcome and sentence of each expectation of a text."""
    return [(v.outcome.value, v.message) for one in loads(text, "e.toml") for v in run(one.check(facts), facts)]


def one(path: str, *operators: str) -> str:
    """A file with one expectation."""
    return "\n".join([f"[expect.'{path}']", *operators, ""])
