"""Fixes of the NVIDIA Container Toolkit on the host: how it is installed, and how Docker takes it up."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import CONFIGURE, GUIDE, PROOF, RESTART_DOCKER
from gpudoctor.fixes.system import family_of, install
from gpudoctor.knowledge import packages
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import Task, Tasks, as_root, cmd, pipe

REPOSITORY = "https://nvidia.github.io/libnvidia-container"
_KEY = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
TOOLKIT = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
_LIST = "/etc/apt/sources.list.d/nvidia-container-toolkit.list"


def install_toolkit(facts: Facts) -> Fix:
    """Install the NVIDIA Container Toolkit from NVIDIA's repository, and configure Docker for it."""
    commands = (*toolkit_commands(facts), CONFIGURE, *restart_docker(facts))
    message = "Install the NVIDIA Container Toolkit, configure Docker for its runtime, and restart Docker."
    if len(commands) == len(restart_docker(facts)) + 1:
        message += f" NVIDIA's guide has this distribution's commands: {GUIDE}"
    return Fix(
        message,
        commands,
        action="reinstall-package",
        root=True,
        needs="restart of Docker, which restarts its containers",
        verify=PROOF,
    )


def toolkit_commands(facts: Facts) -> Tasks:
    """The commands that install NVIDIA's Container Toolkit; none for an unknown distribution."""
    family = family_of(facts)
    if family is None:
        return ()
    name = packages.container_toolkit_package(family)
    ways: dict[str, Tasks] = {
        "debian": (
            *install(facts, "curl", "gnupg", "ca-certificates"),  # no release has them all by itself
            pipe(cmd("curl", "-fsSL", f"{REPOSITORY}/gpgkey"), as_root("gpg", "--dearmor", "--yes", "-o", _KEY)),
            pipe(
                cmd("curl", "-fsSL", f"{REPOSITORY}/stable/deb/nvidia-container-toolkit.list"),
                cmd("sed", f"s#deb https://#deb [signed-by={_KEY}] https://#g"),
                as_root("tee", _LIST),
            ),
            packages.refresh_command(family),
        ),
        "fedora": (
            pipe(
                cmd("curl", "-fsSL", f"{REPOSITORY}/stable/rpm/nvidia-container-toolkit.repo"),
                as_root("tee", "/etc/yum.repos.d/nvidia-container-toolkit.repo"),
            ),
        ),
        "suse": (as_root("zypper", "addrepo", f"{REPOSITORY}/stable/rpm/nvidia-container-toolkit.repo"),),
    }
    return (*ways.get(family, ()), *install(facts, name))


def older_toolkit(facts: Facts, release: str, message: str, then: Task) -> tuple[Fix, ...]:
    """Go back to another release and hold it, where apt has it from NVIDIA's repository; else nothing.

    Args:
        facts: the machine.
        release: "1.17.8"; the toolkit's four packages have one version.
        message: what it does.
        then: what makes it take effect.
    """
    if family_of(facts) != "debian":
        return ()
    pinned = tuple(f"{name}={release}-1" for name in TOOLKIT)
    commands = (
        as_root("apt-get", "install", "--allow-downgrades", *pinned),
        then,
        as_root("apt-mark", "hold", *TOOLKIT),
    )
    undo = (as_root("apt-mark", "unhold", *TOOLKIT), as_root("apt-get", "install", *TOOLKIT))
    return (Fix(message, commands, "reinstall-package", root=True, undo=undo),)


def restart_docker(facts: Facts) -> Tasks:
    """The command that restarts Docker; in a WSL distribution without systemd it is `service`."""
    return (as_root("service", "docker", "restart"),) if on_wsl(facts) else (RESTART_DOCKER,)
