"""What the known vulnerabilities of one program come to: one problem, the worst of them first."""

from collections.abc import Sequence

from gpudoctor.check_engine import Problem, Severity
from gpudoctor.knowledge.vulnerabilities import Vulnerability, is_upstream
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.packages import numbers

BULLETINS = "https://github.com/NVIDIA/product-security"
_MOST = 3  # that are shown one by one


def newest_of(found: Sequence[Vulnerability]) -> str:
    """The release that fixes all of them."""
    return max((one.fixed for one in found), key=numbers)


def upstream(version: str) -> str:
    """The version, where it is upstream's own number: what else it says may stand for fixes of its distributor.

    Raises:
        UnknownFactError: it is another's number.
    """
    if not is_upstream(version):
        raise UnknownFactError(f"{version} is not upstream's number of a release: its distributor knows what is fixed")
    return version


def advice(name: str, found: Sequence[Vulnerability]) -> Problem | None:
    """One problem for all vulnerabilities of a program: a warning where one is critical; None where it has none.

    Args:
        name: the program with its version.
        found: what it has, the worst first.
    """
    if not found:
        return None
    worst, *others = found
    only = f" {worst.only}" if worst.only else ""
    more = f" and {len(others)} more" if others else ""
    message = f"{name} has {worst.cve} ({worst.severity}{only}){more}; {newest_of(found)} fixes {_them(len(found))}."
    shown = [f"{one.cve} ({one.severity}): fixed in {one.fixed}, {one.bulletin}" for one in found[:_MOST]]
    left = [one.cve for one in found[_MOST:]]
    severity = Severity.WARNING if worst.severity == "critical" and not worst.only else None
    return Problem(message, (*shown, *((f"and {', '.join(left)}",) if left else ())), severity=severity)


def _them(number: int) -> str:
    return "it" if number == 1 else "both" if number == 2 else "all of them"
