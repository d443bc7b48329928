"""The NVIDIA Container Toolkit is installed, and Docker does not know its runtime."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.text_types import not_run
from gpudoctor.fixes import container, toolkit_install
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.containers import docker_host
from gpudoctor.tasks import Shell, as_root, cmd, unset


def _in_config(facts: Facts) -> bool:
    return "nvidia" in (known_or(facts.containers.docker_config_runtimes, None) or ())


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if facts.containers.docker_rootless is True:
        commands = (
            Shell("nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json"),
            cmd("systemctl", "--user", "restart", "docker"),
            as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=true"),
        )
        message = (
            "If the system's daemon starts no GPU containers: configure the rootless one for the nvidia runtime. It "
            "needs no-cgroups = true, a setting that both share, and with which the system's containers lose the GPU."
        )
        system = Fix(
            "If the system's Docker daemon was meant: let the client talk to it instead of the rootless one.",
            (unset("DOCKER_HOST"), cmd("docker", "context", "use", "default")),
            "change-environment",
            verify=container.PROOF,
        )
        shared = Fix(message, commands, "change-environment", impact="persistent", verify=container.PROOF)
        return (container.ROOTLESS_CDI, shared, system)
    restart = toolkit_install.restart_docker(facts)
    message = "Restart Docker: the runtime is in its configuration, but the running daemon has not loaded it yet."
    if not _in_config(facts):
        message = "Configure Docker for the nvidia runtime, and restart it."
        restart = (container.CONFIGURE, *restart)
    needs = "restart of Docker, which restarts its containers"
    return (Fix(message, restart, "change-environment", root=True, needs=needs, verify=container.PROOF),)


def _by_files(facts: Facts) -> tuple[str, ...]:
    """The runtimes that files give a daemon that nobody may ask.

    Raises:
        UnknownFactError: no daemon of the system is known to run, or its configuration cannot be read.
    """
    if known(facts.containers.docker_rootless) is not False:
        known(facts.containers.docker_runtimes)
    return known(facts.containers.docker_config_runtimes) or ()


@check(
    title="Docker is not configured for the nvidia runtime",
    severity=Severity.WARNING,
    cause="The toolkit's runtime has to be in the configuration of the daemon that is in use, and the daemon "
    "restarted. Without it --runtime=nvidia and runtime: nvidia fail with 'unknown or invalid runtime name: nvidia'.",
    fixes=_fixes,
    references=(container.GUIDE,),
    targets=docker_host,
    caused_by=("container.docker-config-broken", "driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def runtime_not_configured(facts: Facts) -> Problem | None:
    """The daemon lists no nvidia runtime; CDI, which needs none, is not set up either."""
    found = facts.containers
    if found.docker_snap is True or known(found.toolkit) is None:
        return None
    # From 1.18 on the toolkit generates a specification by itself; it serves only a daemon that reads it.
    if known_or(found.cdi, ()) and found.docker_cdi is not False:
        return None
    listed = _by_files(facts) if not_run(found.docker_runtimes) else known(found.docker_runtimes)
    if listed is None or "nvidia" in listed:
        return None
    if not_run(found.docker_runtimes):
        message = "No configuration of the Docker daemon names the runtime nvidia (daemon.json, its unit's options)."
        return Problem(message, phrases(phrase("NVIDIA Container Toolkit {}", found.toolkit)))
    how = "rootless Docker daemon" if found.docker_rootless is True else "Docker daemon"
    where = "is in daemon.json, but the daemon was not restarted since" if _in_config(facts) else "is in no daemon.json"
    runtimes = f"the runtimes {', '.join(listed)}" if listed else "no runtime"
    message = f"The {how} lists {runtimes} but not nvidia; the runtime {where}."
    return Problem(
        message,
        phrases(phrase("NVIDIA Container Toolkit {}", found.toolkit), f"Runtimes: {', '.join(listed) or 'none'}"),
    )
