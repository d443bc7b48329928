"""How many findings there are of each status and how the other checks ended, in the words of every renderer."""

from gpudoctor.report.model import Report
from gpudoctor.report.numbers import number


def counts(report: Report, unknown: str = "unknown", skipped: bool = True) -> list[str]:
    """The numbers with their words, worst first; without a GPU nothing is said to have passed.

    Args:
        report: whose.
        unknown: the words for what is unknown, which may say how to see it.
        skipped: name the checks that do not apply to this machine too: of no use to who repairs it.
    """
    s = report.summary
    passed = "without a finding" if report.status == "no-gpu" else "passed"
    parts = (
        (s.fail, "failed"),
        (s.warn, "warnings" if s.warn != 1 else "warning"),
        (s.advice, "advice"),
        (s.consequences, "consequences" if s.consequences != 1 else "consequence"),
        (s.broken, "broken"),
        (s.unknown, unknown),
        (s.passed, passed),
        (s.skipped if skipped else 0, "not applicable"),
    )
    return [f"{number(count)} {name}" for count, name in parts if count or name in ("failed", passed)]


def no_problems(gpus: bool, frameworks: bool, checks: int | None = None) -> str:
    """The sentence of a machine on which nothing was found: it claims no more than was looked at, and has no full stop.

    Args:
        gpus: whether there is a GPU.
        frameworks: whether an environment with a framework was checked.
        checks: how many checks passed; None: the sentence leaves it out.
    """
    where = " with the driver and GPU" if gpus and not frameworks else ""
    number_of = "" if checks is None else f" ({number(checks)} check{'s' * (checks != 1)})"
    return f"No problems found{where}{number_of}" + ("" if frameworks else "; no framework was checked")


def passed(report: Report) -> str:
    """That sentence of a report."""
    return no_problems(bool(report.gpus), bool(report.frameworks))
