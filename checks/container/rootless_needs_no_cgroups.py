"""A rootless engine whose NVIDIA hook still tries to write the cgroup's device rules."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import container
from gpudoctor.maybe import known
from gpudoctor.queries.containers import docker_host
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import as_root, cmd, query, sentence


@check(
    title="Rootless Docker needs no-cgroups = true or CDI",
    severity=Severity.WARNING,
    cause="Only root can attach device rules to a cgroup (bpf_prog_query: operation not permitted). A rootless daemon "
    "therefore needs no-cgroups = true, or CDI, which does not touch the rules; with the toolkit's default setting "
    "no container with --gpus starts.",
    fixes=(
        container.ROOTLESS_CDI,
        Fix(
            "If the system's daemon starts no GPU containers: set no-cgroups = true for the hook, and restart the "
            "rootless daemon. Both share the setting; with it the system's containers lose the GPU.",
            (
                as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=true"),
                cmd("systemctl", "--user", "restart", "docker"),
            ),
            "change-environment",
            root=True,
            impact="persistent",
            needs="restart of Docker",
            undo=sentence("remove the setting no-cgroups from /etc/nvidia-container-runtime/config.toml"),
            verify=query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi"),
        ),
    ),
    references=(
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html#rootless-mode",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/106",
    ),
    targets=docker_host,
    caused_by=("driver.*", "device.*", "container.runtime-not-configured"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def rootless_needs_no_cgroups(facts: Facts) -> Problem | None:
    """Rootless, with the toolkit, without the setting and without CDI."""
    containers = facts.containers
    if known(containers.docker_rootless) is not True or on_wsl(facts):
        return None
    if known(containers.toolkit) is None or known(containers.no_cgroups) is not False or known(containers.cdi):
        return None
    return Problem(
        "Docker is rootless, but the toolkit's no-cgroups is false, and its hook cannot set the cgroup's device rules.",
        ("/etc/nvidia-container-runtime/config.toml: no-cgroups is not set to true",),
    )
