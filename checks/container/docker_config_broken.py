"""Docker's configuration is not valid JSON."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import toolkit_install
from gpudoctor.maybe import Unknown
from gpudoctor.queries.containers import docker_host
from gpudoctor.tasks import Shell, as_root, cmd


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    path = (facts.containers.docker_config_error or "").partition(":")[0]
    return (
        Fix(
            f"Correct {path} (an extra or missing comma, a comment, two documents in a row), then restart Docker.",
            (
                cmd("python3", "-m", "json.tool", path),
                as_root("nano", path, person=True),
                *toolkit_install.restart_docker(facts),
            ),
            "change-environment",
            root=True,
            needs="restart of Docker",
            verify=Shell(f"python3 -m json.tool {path} && docker info", lookup=True),
        ),
    )


@check(
    title="Docker's daemon.json is not valid JSON",
    severity=Severity.WARNING,
    cause="dockerd refuses to start with a daemon.json that it cannot parse; a daemon that is still running has the "
    "previous settings and will not come up after its next restart.",
    fixes=_fixes,
    references=("https://docs.docker.com/engine/daemon/troubleshoot/",),
    targets=docker_host,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("table 2026-11",),
)
def docker_config_broken(facts: Facts) -> Problem | None:
    """The file was read and is not valid JSON: an ERROR where the daemon does not respond."""
    error = facts.containers.docker_config_error
    if error is None:
        return None
    silent = isinstance(facts.containers.docker_runtimes, Unknown)
    also = " The Docker daemon does not respond." if silent else ""
    return Problem(
        f"Docker's configuration is not valid JSON: {error}.{also}",
        (error,),
        severity=Severity.ERROR if silent else Severity.WARNING,
    )
