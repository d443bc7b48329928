"""A CDI specification that passes in files or device nodes which the host does not have."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.container_host import CdiGone
from gpudoctor.fixes import cdi
from gpudoctor.queries.cards import may_serve
from gpudoctor.queries.containers import in_effect, own_engine_host, takes_cdi
from gpudoctor.tasks import Tasks, as_root, query

_SHOWN = 4
# What makes the things that come and go: a service's socket, a node that is made at first use.
_MAKERS: tuple[tuple[str, Tasks], ...] = (
    ("/nvidia-persistenced/socket", (as_root("systemctl", "enable", "--now", "nvidia-persistenced"),)),
    ("/nvidia-fabricmanager/socket", (as_root("systemctl", "enable", "--now", "nvidia-fabricmanager"),)),
    ("/dev/nvidia-uvm", (as_root("nvidia-modprobe", "-c", "0", "-u"),)),
    ("/dev/nvidia-modeset", (as_root("nvidia-modprobe", "-m"),)),
)


def _hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if facts.containers.cdi_gone:
        yield from own_engine_host(facts)


def _read(facts: Facts) -> list[CdiGone]:
    """What is missing of the specifications that count, where an engine is here that reads them."""
    return in_effect(facts.containers.cdi_gone) if takes_cdi(facts) is not None else []


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    gone = _read(facts)
    files = tuple(dict.fromkeys(one.file for one in gone))
    again = "It then names what is here now; generate it again whenever the driver or its services change."
    proof = query("ls", "-l", *dict.fromkeys(one.path for one in gone[:_SHOWN]))
    makers = [task for end, tasks in _MAKERS if any(one.path.endswith(end) for one in gone) for task in tasks]
    fixes = tuple(cdi.regenerate(facts, path, again) for path in files)
    if makers:
        message = "If the missing one should be there (a service's socket, a node made at first use): bring it back."
        fixes += (Fix(message, tuple(makers), "change-environment", root=True, verify=proof),)
    return fixes


@check(
    title="CDI specification names a file or device node that no longer exists: containers do not start",
    severity=Severity.WARNING,
    cause="A CDI specification is a list of what was there when it was generated: libraries by their full names, "
    "sockets of services, nodes such as /dev/dri/card1, whose numbers change between boots. An engine does not start a "
    "container where one is missing (failed to stat CDI host device; failed to fulfil mount request: no such file).",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-settings/issues/124",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/885",
        "https://github.com/microsoft/WSL/issues/11589",
        "https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md",
    ),
    targets=_hosts,
    only_with=("queries.containers:own_engine_host", "containers.cdi_gone"),
    caused_by=(
        "driver.*",
        "device.*",
        "container.cdi-stale",
        "container.cdi-other-major",
        "container.cdi-incomplete",
        "container.cdi-without-mig",
    ),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def cdi_file_missing(facts: Facts) -> Problem | None:
    """A path in NVIDIA's specification that its directory does not list, an engine that reads it, and a working GPU."""
    gone = _read(facts)
    if not gone or not may_serve(facts):
        return None
    paths = tuple(dict.fromkeys(one.path for one in gone))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    message = f"{gone[0].file} passes {paths[0]}{more} into containers, but this host does not have it."
    evidence = tuple(f"missing: {path}" for path in paths[:_SHOWN])
    return Problem(message, evidence, severity=None if takes_cdi(facts) else Severity.ADVICE)
