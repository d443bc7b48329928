"""A container toolkit from before cgroup v2."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import toolkit_install
from gpudoctor.maybe import known
from gpudoctor.queries.containers import docker_host
from gpudoctor.queries.packages import numbers

# The first release of libnvidia-container that sets device rules of cgroup v2.
FIRST = (1, 8)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (toolkit_install.install_toolkit(facts),)


@check(
    title="NVIDIA Container Toolkit is too old for cgroup v2",
    severity=Severity.WARNING,
    cause="Distributions since 2021 mount only cgroup version 2 (cgroup v2). Toolkits before 1.8, as in "
    "nvidia-docker2 of that time, look for version 1: containers with --gpus fail with 'cgroup subsystem devices "
    "not found'.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/libnvidia-container/issues/111",
        "https://github.com/NVIDIA/k8s-device-plugin/issues/273",
    ),
    targets=docker_host,
    caused_by=("driver.*", "device.*", "container.docker-snap"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def toolkit_too_old(facts: Facts) -> str | None:
    """The toolkit reports an older version, the host has version 2, and the hook sets device rules."""
    version = known(facts.containers.toolkit)
    if version is None or not version[0].isdigit() or numbers(version)[:2] >= FIRST:
        return None
    if known(facts.host.cgroup) != 2 or known(facts.containers.no_cgroups) is True:
        return None
    return f"NVIDIA Container Toolkit {version} is installed, but this host has only cgroup version 2 (cgroup v2)."
