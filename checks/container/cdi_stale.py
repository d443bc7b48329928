"""A CDI specification that was generated for another driver."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import cdi
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import engine_host
from gpudoctor.queries.driver import user_version
from gpudoctor.targets import has_nvidia


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if has_nvidia(facts):
        yield from engine_host(facts)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    path = next((p for p in known_or(facts.containers.cdi, ()) if "nvidia" in p), "/etc/cdi/nvidia.yaml")
    return (cdi.regenerate(facts, path, "From toolkit 1.18 on a service does so after each upgrade."),)


@check(
    title="CDI specification is for another driver version",
    severity=Severity.WARNING,
    cause="A CDI specification lists the driver's files by their full names. After a driver upgrade these files are "
    "gone, and containers that request nvidia.com/gpu do not start or get libraries that do not match.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html",),
    targets=_hosts,
    only_with=(
        "queries.containers:engine_host",
        "targets:nvidia_hardware",
    ),
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_stale(facts: Facts) -> Problem | None:
    """The version in the specification is not that of the installed libraries."""
    named = known(facts.containers.cdi_driver)
    installed = user_version(facts)
    if named is None or installed is None or named == installed:
        return None
    paths = [p for p in known(facts.containers.cdi) if "nvidia" in p]
    message = f"The CDI specification is for driver {named}, the installed driver is {installed}."
    return Problem(message, tuple(paths))
