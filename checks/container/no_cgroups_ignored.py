"""A release of the container toolkit that sets device rules although it must not."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import GUIDE
from gpudoctor.fixes.system import family_of, install
from gpudoctor.fixes.toolkit_install import TOOLKIT, older_toolkit
from gpudoctor.knowledge import packages
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.containers import container_host
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import as_root, cmd, query


def _fails_in(facts: Facts) -> tuple[str, str] | None:
    """Which engine's containers do not start, enroot or Docker, and the toolkit with which they do; None: neither's."""
    rows = container_toolkit().cgroups
    release = ".".join(map(str, numbers(known(facts.containers.toolkit) or "")[:3]))
    if release in rows.direct:
        return ("enroot", rows.direct[release]) if known(facts.containers.enroot_hook) else None
    if release not in rows.hook or on_wsl(facts):
        return None
    rootless = known(facts.containers.docker_rootless) is True and known(facts.containers.no_cgroups) is True
    return ("Docker", rows.hook[release]) if rootless else None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    failing = _fails_in(facts)
    if failing is None:
        return ()
    engine, working = failing
    enroot = engine == "enroot"
    verify = query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi")
    family = family_of(facts)
    refresh = (packages.refresh_command(family),) if family == "debian" else ()
    newer = Fix(
        f"Upgrade the NVIDIA Container Toolkit: the error is fixed since {working}. {GUIDE}",
        (*refresh, *install(facts, *TOOLKIT)),
        "reinstall-package",
        root=True,
        verify=query("nvidia-container-cli", "--version") if enroot else verify,
    )
    if numbers(working) > numbers(present(facts.containers.toolkit) or ""):
        return (newer,)
    back = older_toolkit(
        facts,
        working,
        f"Go back to toolkit {working}, with which rootless Docker works, and hold it.",
        cmd("systemctl", "--user", "restart", "docker"),
    )
    if not back:
        message = f"Go back to toolkit {working}, with which rootless Docker works. {GUIDE}"
        back = (Fix(message, (), "reinstall-package", root=True, verify=verify),)
    cdi = Fix(
        "Pass GPUs to containers through CDI, which needs no device rules: --device instead of --gpus.",
        (
            as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),
            query("docker", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),
        ),
        "change-environment",
        root=True,
    )
    return (*back, cdi)


@check(
    title="This NVIDIA Container Toolkit ignores no-cgroups",
    severity=Severity.WARNING,
    cause="Only root can attach device rules to a cgroup, so rootless engines tell the toolkit to leave them alone "
    "(no-cgroups). Releases 1.14.0, 1.17.7 (nvidia-container-cli called directly) and 1.18.0 try it all the same: "
    "failed to add device rules: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1487",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1093",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/106",
        "https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/CHANGELOG.md",
    ),
    targets=container_host,
    caused_by=("driver.*", "device.*", "container.runtime-not-configured"),
    affects=("containers",),
    validated_on=("simulated 2026-11",),
)
def no_cgroups_ignored(facts: Facts) -> Problem | None:
    """The release, and an engine that relies on the setting; with a CDI specification it is advice."""
    failing = _fails_in(facts)
    if failing is None:
        return None
    engine, _ = failing
    version, hook = present(facts.containers.toolkit), facts.containers.enroot_hook
    if engine == "enroot":
        return Problem(
            f"enroot (and pyxis) cannot start a container with a GPU: nvidia-container-cli {version} ignores "
            "--no-cgroups and tries to set the cgroup's device rules.",
            (f"{present(hook)} calls nvidia-container-cli",),
        )
    return Problem(
        f"Docker is rootless, and the hook of NVIDIA Container Toolkit {version} tries to set the cgroup's device "
        "rules although no-cgroups is true: containers with --gpus do not start.",
        ("/etc/nvidia-container-runtime/config.toml: no-cgroups = true",),
        severity=Severity.ADVICE if known_or(facts.containers.cdi, ()) else None,
    )
