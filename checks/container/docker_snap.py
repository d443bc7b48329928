"""Docker from the snap, which cannot use the host's NVIDIA Container Toolkit."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container, toolkit_install
from gpudoctor.fixes.system import install
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.containers import docker_host
from gpudoctor.tasks import Tasks, as_root

_REFRESH = Fix(
    "Refresh the snap: newer revisions include NVIDIA support.",
    (as_root("snap", "refresh", "docker", "--channel=latest/stable"), as_root("snap", "restart", "docker")),
    "reinstall-package",
    root=True,
    needs="restart of Docker",
    verify=container.PROOF,
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    toolkit: Tasks = toolkit_install.install_toolkit(facts).tasks
    if known_or(facts.containers.toolkit, None) is not None:
        toolkit = (container.CONFIGURE, *toolkit_install.restart_docker(facts))
    replace = Fix(
        "If that does not help, replace the snap with the distribution's Docker (or docker-ce from Docker's "
        "repository), which uses the host's toolkit. Images and volumes of the snap are not migrated: export them "
        "first.",
        (as_root("snap", "remove", "docker"), *install(facts, "docker.io"), *toolkit),
        "reinstall-package",
        root=True,
        impact="data loss",
        needs="a new shell, so that the old path /snap/bin/docker is forgotten",
        verify=container.PROOF,
    )
    return _REFRESH, replace


@check(
    title="Docker snap cannot use the host's NVIDIA Container Toolkit",
    severity=Severity.WARNING,
    cause="The snap is confined: its daemon reads /var/snap/docker instead of /etc/docker/daemon.json and does not "
    "see programs and libraries of the host, such as nvidia-container-runtime and libnvidia-ml.so.1.",
    fixes=_fixes,
    references=(
        "https://github.com/canonical/docker-snap/issues/180",
        "https://github.com/NVIDIA/nvidia-docker/issues/1637",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/522",
    ),
    targets=docker_host,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def docker_snap(facts: Facts) -> Problem | None:
    """The daemon or its client is the snap's, and lists no nvidia runtime."""
    if known(facts.containers.docker_snap) is not True:
        return None
    listed = known_or(facts.containers.docker_runtimes, None) or ()
    if "nvidia" in listed:
        return None
    name = "Docker" + phrase(" ({})", facts.containers.docker)
    message = f"{name} is the snap: containers cannot get the GPU through the host's toolkit."
    # Who installed the toolkit wants GPUs in containers, and none can get one.
    severity = Severity.ERROR if known_or(facts.containers.toolkit, None) else None
    return Problem(message, (f"Docker runtimes: {', '.join(listed) or 'not known'}",), severity=severity)
