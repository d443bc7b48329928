"""A release of runc, as Docker uses it, with known vulnerabilities."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.security import newer_runc
from gpudoctor.knowledge.vulnerabilities import Vulnerability, of_release, vulnerabilities
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known
from gpudoctor.queries.security import advice, upstream

# What upstream's build writes ("v1.2.5-0-g59923ef"); distributions put fixes into older releases of theirs.
_UPSTREAM = pattern(r"v?(\d+\.\d+\.\d+)(?:-0-g[0-9a-f]+)?")


def runc_hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine whose Docker uses runc.

    Raises:
        UnknownFactError: the daemon was not asked, or does not say.
    """
    if known(facts.containers.runc_version):
        yield MACHINE, facts


def _version(facts: Facts) -> str:
    version = known(facts.containers.runc_version) or ""
    found = _UPSTREAM.fullmatch(version)
    return upstream(found[1] if found else version)


def _found(facts: Facts) -> tuple[Vulnerability, ...]:
    return of_release(vulnerabilities().runc, _version(facts))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return newer_runc(facts, _found(facts))


@check(
    title="runc has known vulnerabilities",
    severity=Severity.ADVICE,
    cause="runc starts every container of Docker, as root. In these releases a crafted image, or a program in the "
    "container while it starts, can write to files of the host and leave the container.",
    fixes=_fixes,
    references=(
        "https://github.com/opencontainers/runc/security/advisories/GHSA-9493-h29p-rfm2",
        "https://github.com/opencontainers/runc/security/advisories/GHSA-xr7r-f8xq-vfvv",
    ),
    targets=runc_hosts,
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def runc(facts: Facts) -> Problem | None:
    """Docker's daemon reports an upstream release of runc that is older than the fix of its series."""
    return advice(f"runc {_version(facts)}", _found(facts))
