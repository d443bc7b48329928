"""A release of NVIDIA's driver with known vulnerabilities."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.security import newer_driver
from gpudoctor.knowledge.vulnerabilities import Vulnerability, of_driver
from gpudoctor.maybe import known
from gpudoctor.queries.driver import driver_version
from gpudoctor.queries.security import BULLETINS, advice, upstream
from gpudoctor.targets import gpus_of, has_nvidia, on_wsl


def driver_hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine on which NVIDIA's driver runs; a Jetson has its own.

    Raises:
        UnknownFactError: its version is not known.
    """
    if has_nvidia(facts) and facts.host.platform != "jetson" and known(driver_version(facts)):
        yield MACHINE, facts


def _version(facts: Facts) -> str:
    return upstream(known(driver_version(facts)) or "")


def _found(facts: Facts) -> tuple[Vulnerability, ...]:
    windows = facts.host.system == "Windows" or on_wsl(facts)
    names = [known(gpu.name) or "" for gpu in gpus_of(facts, "nvidia")] if windows else []
    return of_driver(_version(facts), windows, any("GeForce" in name for name in names))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return newer_driver(facts, _found(facts))


@check(
    title="NVIDIA driver has known vulnerabilities",
    severity=Severity.ADVICE,
    cause="The driver's kernel module serves every program that may open /dev/nvidia*. By these vulnerabilities a "
    "local user or a program in a container can crash the machine, read foreign memory or become root. NVIDIA fixes "
    "them in each supported branch.",
    fixes=_fixes,
    references=(BULLETINS, "https://www.nvidia.com/en-us/security/"),
    targets=driver_hosts,
    validated_on=("simulated 2026-11",),
)
def driver(facts: Facts) -> Problem | None:
    """The running driver is older than the fix that a security bulletin names for its branch."""
    return advice(f"NVIDIA driver {_version(facts)}", _found(facts))
