"""Fixes of known vulnerabilities: the release that has none of them, where this machine can get it."""

from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import CONTAINER_AGAIN
from gpudoctor.fixes.driver import branch_of, install_driver
from gpudoctor.fixes.python import add, lasting
from gpudoctor.fixes.system import driver_packages, family_of, install
from gpudoctor.fixes.toolkit_install import restart_docker, toolkit_commands
from gpudoctor.fixes.torch_build import TORCH_FAMILY, torch_since
from gpudoctor.knowledge.packages import Flavour, refresh_command
from gpudoctor.knowledge.vulnerabilities import Vulnerability, vulnerabilities
from gpudoctor.queries.driver import module_flavor
from gpudoctor.queries.packages import packages_of
from gpudoctor.queries.security import newest_of
from gpudoctor.targets import OnPython, in_container, on_wsl
from gpudoctor.tasks import filtered, query

DOWNLOADS = "https://www.nvidia.com/en-us/drivers/"


def newer_toolkit(facts: Facts, found: Sequence[Vulnerability]) -> tuple[Fix, ...]:
    """Upgrade the NVIDIA Container Toolkit; on a node of Kubernetes its operator may have installed it."""
    release = newest_of(found)
    fix = Fix(
        f"Upgrade the NVIDIA Container Toolkit to {release} or newer from NVIDIA's repository, then restart Docker.",
        (*toolkit_commands(facts), *(restart_docker(facts) if isinstance(facts.containers.docker, str) else ())),
        "reinstall-package",
        root=True,
        needs="restart of Docker, which restarts its containers",
        verify=query("nvidia-ctk", "--version"),
    )
    if facts.cluster.kubelet is not True:
        return (fix,)
    operator = f"If the NVIDIA GPU Operator installed the toolkit: upgrade it to {vulnerabilities().operator} or newer."
    return (Fix(operator, action="reinstall-package", needs="new pods"), fix)


def newer_runc(facts: Facts, found: Sequence[Vulnerability]) -> tuple[Fix, ...]:
    """Upgrade Docker's own package of runc."""
    family = family_of(facts)
    upgrade = (*((refresh_command(family),) if family == "debian" else ()), *install(facts, "containerd.io"))
    message = (
        f"Upgrade containerd.io, Docker's package that includes runc, then restart Docker; runc has to be "
        f"{newest_of(found)} or newer."
    )
    verify = filtered(query("docker", "info"), query("grep", "runc version"))
    needs = "restart of Docker, which restarts its containers"
    return (
        Fix(message, (*upgrade, *restart_docker(facts)), "reinstall-package", root=True, needs=needs, verify=verify),
    )


def newer_driver(facts: Facts, found: Sequence[Vulnerability]) -> tuple[Fix, ...]:
    """Upgrade the driver within its branch, or where it comes from."""
    release, smi = newest_of(found), query("nvidia-smi")
    if facts.host.system == "Windows" or on_wsl(facts):
        where = " on Windows, never inside WSL," if on_wsl(facts) else ""
        message = f"Install driver {release} or newer{where} from {DOWNLOADS}, then reboot."
        return (Fix(message, action="reinstall-package", root=True, needs="reboot", verify=smi),)
    if in_container(facts):
        message = f"Ask the host's administrator to upgrade the driver on the host to {release} or newer."
        return (Fix(message, action="reinstall-package", needs=CONTAINER_AGAIN, verify=smi, place="outside"),)
    if not driver_packages(facts):
        message = f"Install driver {release} or newer the way the present one was installed, then reboot: {DOWNLOADS}"
        return (Fix(message, action="reinstall-package", root=True, needs="reboot", verify=smi),)
    flavor: Flavour = "open" if module_flavor(facts) == "open" else "proprietary"
    message = f"Upgrade the driver to {release} or newer of its branch, then reboot."
    return (install_driver(facts, branch_of(release), flavor, message),)


def newer_package(on: OnPython, name: str, found: Sequence[Vulnerability]) -> tuple[Fix, ...]:
    """Upgrade a Python package; PyTorch to the build for this GPU, if its release is one without them."""
    release = newest_of(found)
    if name != "torch":
        message = f"Upgrade {name} to {release} or newer; its dependencies may change with it.{lasting(on.facts)}"
        return (Fix(message, add(on.python, f"{name}>={release}", upgrade=True), "reinstall-package"),)
    message = f"Upgrade PyTorch to {release} or newer; packages that are compiled against it have to follow."
    if holders := _forbidding(on, release):
        message += f" Upgrade {' and '.join(holders)} first, to releases that permit it."
    newer = () if holders else torch_since(on.facts, on.python, release)
    return newer or (Fix(message, action="reinstall-package"),)


def _forbidding(on: OnPython, release: str) -> list[str]:
    """The packages whose requirements do not permit this release of PyTorch."""
    from packaging.requirements import InvalidRequirement, Requirement

    found = []
    for package in packages_of(on.python):
        for line in package.requires:
            try:
                wanted = Requirement(line)
            except InvalidRequirement:
                continue
            if wanted.name == "torch" and not wanted.specifier.contains(release) and package.name not in TORCH_FAMILY:
                found.append(package.name)
    return list(dict.fromkeys(found))
