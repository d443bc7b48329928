"""Docker inside a system container, unprivileged or confined, whose NVIDIA hook may not set device rules."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or, phrases
from gpudoctor.queries.containers import nvidia_container
from gpudoctor.queries.packages import numbers
from gpudoctor.tasks import as_root, query

# From this release on the runtime uses CDI, and the engine itself sets the rules.
WITHOUT_RULES = (1, 18)
_REFUSED = "ctk-cgroup"  # the row of symptoms*.toml


def _nested(facts: Facts) -> Iterator[tuple[About, Facts]]:
    if isinstance(facts.containers.docker, str):
        yield from ((MACHINE, facts) for _ in nvidia_container(facts))


@check(
    title="Docker in an unprivileged container needs no-cgroups = true",
    severity=Severity.WARNING,
    cause="Root of an unprivileged LXC container is not root of the host, and cannot attach device rules to a cgroup "
    "(bpf_prog_query: operation not permitted). Docker inside it therefore needs no-cgroups = true; the LXC "
    "container's rules still apply to everything in it.",
    fixes=(
        Fix(
            "Set no-cgroups = true for the NVIDIA hook, and restart Docker, all inside this container.",
            (
                as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=true"),
                as_root("systemctl", "restart", "docker"),
            ),
            "change-environment",
            root=True,
            needs="restart of Docker",
            undo=(as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=false"),),
            verify=query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi"),
        ),
    ),
    references=(
        "https://github.com/NVIDIA/libnvidia-container/issues/154",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/290",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/139",
    ),
    targets=_nested,
    only_with=("containers.docker", "queries.containers:nvidia_container"),
    caused_by=("driver.*", "device.*", "container.no-gpus-passed", "container.driver-version-inside"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def nested_needs_no_cgroups(facts: Facts) -> Problem | None:
    """Users are mapped, or Docker logged the refusal; the toolkit has its default setting, and CDI is not used."""
    found = facts.containers
    version = known(found.toolkit)
    logged = next((one.text for one in known_or(facts.services.lines, ()) if one.symptom == _REFUSED), None)
    if version is None or (logged is None and known(found.user_namespace) is not True):
        return None
    if version[0].isdigit() and numbers(version)[:2] >= WITHOUT_RULES:
        return None
    if known(found.no_cgroups) is not False or known(found.cdi):
        return None
    unprivileged = "unprivileged " if found.user_namespace is True else ""
    return Problem(
        f"Docker with the NVIDIA Container Toolkit runs in this {unprivileged}container, but the toolkit's no-cgroups "
        "is false, and its hook cannot set the cgroup's device rules.",
        phrases("/etc/nvidia-container-runtime/config.toml: no-cgroups is not set to true", logged or ""),
    )
