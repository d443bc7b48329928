"""no-cgroups = true with Docker in WSL."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import as_root, query


@check(
    title="no-cgroups = true blocks the GPU in WSL's Docker containers",
    severity=Severity.WARNING,
    cause="With no-cgroups = true the NVIDIA hook does not add /dev/dxg to the device rules of the container's "
    "cgroup: nvidia-smi works in the distribution, but in containers NVML reports 'GPU access blocked by the "
    "operating system'.",
    fixes=(
        Fix(
            "Set no-cgroups = false in /etc/nvidia-container-runtime/config.toml, restart Docker, and recreate the "
            "containers.",
            (
                as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=false"),
                as_root("service", "docker", "restart"),
            ),
            "change-environment",
            root=True,
            needs="Docker restart and new containers",
            undo=(as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=true"),),
            verify=query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi"),
        ),
    ),
    references=(
        "https://github.com/microsoft/WSL/issues/9962",
        "https://github.com/microsoft/WSL/issues/9938",
    ),
    targets=wsl_machine,
    caused_by=("wsl.version-1", "wsl.no-dxg", "wsl.linux-driver-installed", "wsl.access-blocked"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def no_cgroups(facts: Facts) -> Problem | None:
    """The setting is true, and a Docker that is neither rootless nor Docker Desktop runs here."""
    engines = facts.containers
    if in_container(facts) or not isinstance(engines.docker, str) or engines.docker_desktop is True:
        return None
    if known(engines.no_cgroups) is not True or engines.docker_rootless is True:
        return None
    line = "/etc/nvidia-container-runtime/config.toml: no-cgroups = true"
    return Problem(
        "no-cgroups is true in the NVIDIA Container Toolkit's configuration of this WSL distribution.", (line,)
    )
