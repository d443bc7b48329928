"""The NVIDIA container hook is set to ignore cgroups, though Docker runs as root."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import docker_host
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import as_root, query

SET_FALSE = as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=false")


@check(
    title="no-cgroups = true denies Docker containers access to the GPU",
    severity=Severity.ERROR,
    cause="With no-cgroups = true the NVIDIA hook does not add the GPU to the device rules of the container's cgroup. "
    "That is right only for rootless engines; under a Docker daemon that runs as root, containers get EPERM on "
    "/dev/nvidiactl from the start, and NVML returns Unknown Error.",
    fixes=(
        Fix(
            "Set no-cgroups = false in /etc/nvidia-container-runtime/config.toml, restart Docker, and recreate the "
            "containers.",
            (SET_FALSE, as_root("systemctl", "restart", "docker")),
            "change-environment",
            root=True,
            needs="restart of Docker and new containers",
            undo=(as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=true"),),
            verify=query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi"),
        ),
    ),
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html#rootless-mode",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/85",
    ),
    targets=docker_host,
    caused_by=("driver.*", "device.*"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def no_cgroups(facts: Facts) -> Problem | None:
    """The setting is true, Docker is not rootless, and this is not WSL (wsl.no-cgroups)."""
    if on_wsl(facts) or known(facts.containers.no_cgroups) is not True or known(facts.containers.docker_rootless):
        return None
    line = "/etc/nvidia-container-runtime/config.toml: no-cgroups = true"
    # Podman's containers, and those that Docker starts by CDI, do without the hook.
    by_cdi = facts.containers.docker_cdi is True and known_or(facts.containers.cdi, ())
    severity = Severity.WARNING if by_cdi or facts.containers.podman is not None else None
    message = "no-cgroups is true in the toolkit's configuration, and Docker runs as root."
    return Problem(message, (line,), severity=severity)
