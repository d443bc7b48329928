"""A release of the NVIDIA Container Toolkit with known vulnerabilities."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.security import newer_toolkit
from gpudoctor.knowledge.vulnerabilities import Vulnerability, of_release, vulnerabilities
from gpudoctor.maybe import known
from gpudoctor.queries.security import BULLETINS, advice, upstream


def toolkit_hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where the toolkit is installed.

    Raises:
        UnknownFactError: nobody could look, as from inside a container.
    """
    if known(facts.containers.toolkit):
        yield MACHINE, facts


def _version(facts: Facts) -> str:
    return upstream(known(facts.containers.toolkit) or "")


def _found(facts: Facts) -> tuple[Vulnerability, ...]:
    return of_release(vulnerabilities().toolkit, _version(facts))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return newer_toolkit(facts, _found(facts))


@check(
    title="NVIDIA Container Toolkit has known vulnerabilities",
    severity=Severity.ADVICE,
    cause="The toolkit's hooks run as root on the host while a container starts. In these releases a crafted image can "
    "make them run its code or mount the host's files: who can start containers from foreign images owns the host.",
    fixes=_fixes,
    references=(BULLETINS, "https://nvd.nist.gov/vuln/detail/CVE-2025-23266"),
    targets=toolkit_hosts,
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def container_toolkit(facts: Facts) -> Problem | None:
    """The installed release is older than a security bulletin's fix."""
    return advice(f"NVIDIA Container Toolkit {_version(facts)}", _found(facts))
