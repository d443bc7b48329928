"""Docker on a GPU host without the NVIDIA Container Toolkit."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container, toolkit_install
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import NOT_LOADED
from gpudoctor.queries.containers import docker_host
from gpudoctor.queries.wanted import cuda_wanted


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (toolkit_install.install_toolkit(facts),)


@check(
    title="NVIDIA Container Toolkit is not installed: Docker cannot pass GPUs to containers",
    severity=Severity.WARNING,
    cause="Docker itself has no support for NVIDIA GPUs. docker run --gpus needs the NVIDIA Container Toolkit on the "
    'host; without it Docker fails with: could not select device driver "" with capabilities: [[gpu]]. The driver '
    "on the host is enough; the CUDA toolkit is not needed there.",
    fixes=_fixes,
    references=(container.GUIDE, "https://github.com/NVIDIA/dcgm-exporter/issues/33"),
    targets=docker_host,
    caused_by=NOT_LOADED,
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def toolkit_missing(facts: Facts) -> Problem | None:
    """Docker is installed, and none of the toolkit's programs is."""
    if facts.containers.docker_snap is True or known(facts.containers.toolkit) is not None:
        return None
    listed = known_or(facts.containers.docker_runtimes, None) or ()
    configured = known_or(facts.containers.docker_config_runtimes, None) or ()
    if "nvidia" in listed and "nvidia" not in configured:
        return None  # the daemon runs elsewhere, or has its runtime from another path
    version = known_or(facts.containers.docker_version, None)
    name = f"Docker {version}" if version else "Docker"
    also = " /etc/docker/daemon.json names the runtime nvidia, but its program is missing." * ("nvidia" in configured)
    message = f"{name} is installed, the NVIDIA Container Toolkit is not: containers cannot get the GPU.{also}"
    # On a laptop Docker is there for other things as well; a server may have all its frameworks in containers.
    asked = "nvidia" in configured or facts.host.platform != "laptop" or cuda_wanted(facts)
    runtimes = (f"Docker runtimes: {', '.join(listed) or 'not known'}",)
    return Problem(message, runtimes, severity=None if asked else Severity.ADVICE)
