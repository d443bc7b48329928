"""What machine this is: everything that is settled before any GPU is asked."""

import re

from gpudoctor.facts.host import Distribution, Host
from gpudoctor.formats.os_release import os_release
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, text_of
from gpudoctor.probes import container as containers
from gpudoctor.probes import (
    host_environment,
    host_folders,
    host_kernel,
    host_limits,
    host_platform,
    host_selinux,
    host_state,
    host_user,
    wsl,
)


def probe(machine: Machine) -> Host:
    """Find out what machine this is; reads a few dozen small files and, seldom, asks mokutil or getenforce."""
    seen = containers.probe(machine)
    windows = wsl.version(machine)
    user = host_user.user(machine)
    distribution = _distribution(machine)
    cgroups = host_limits.Cgroups(machine)
    total, available = host_limits.memory(machine)
    return Host(
        architecture=machine.architecture(),
        hostname=_hostname(machine),
        platform=host_platform.platform(machine, container=seen.name, wsl=windows),
        distribution=distribution,
        kernel=host_kernel.kernel(machine, inside=seen.name is not None, debian=_debian(distribution), wsl=windows),
        product=host_platform.product(machine),
        virtual=host_platform.hypervisor(machine),
        container=seen.name,
        kubernetes=seen.kubernetes,
        wsl=windows,
        cgroup=cgroups.version(),
        memory=total,
        memory_available=available,
        memory_limit=cgroups.memory_limit(total),
        cpus=host_limits.cpus(machine, cgroups),
        memlock=machine.memlock(),
        shm=host_limits.shm(machine),
        folders=host_folders.folders(machine, host_user.home(machine)),
        user=user,
        selinux=host_selinux.selinux(machine),
        environment=host_environment.environment(machine),
        working_directory_shadows=host_folders.shadows(machine),
        uptime=host_state.uptime(machine, container=seen.name),
        cpu_list=host_state.cpu_list(machine),
        numa_balancing=host_state.numa_balancing(machine),
        address_space=host_state.address_space(machine),
        may_lock=host_state.may_lock(machine),
        rdma=host_state.rdma(machine),
        l4t=host_state.l4t(machine),
        thunderbolt=host_state.thunderbolt(machine),
    )


def _hostname(machine: Machine) -> Maybe[str]:
    path = "/proc/sys/kernel/hostname"
    return machine.line(path) or machine.line("/etc/hostname") or Unknown(f"{path} cannot be read")


def _distribution(machine: Machine) -> Distribution:
    # The second place is the one that the first links to; images without /etc/os-release have it alone.
    text = machine.line("/etc/os-release") or machine.line("/usr/lib/os-release")
    if not text:
        return _without_os_release(machine)
    fields = os_release(text)
    name = fields.get("PRETTY_NAME") or fields.get("NAME")
    return Distribution(
        id=fields.get("ID", "linux"),  # the default that os-release(5) gives
        like=tuple(fields.get("ID_LIKE", "").split()),
        version=fields.get("VERSION_ID") or None,
        codename=fields.get("VERSION_CODENAME") or fields.get("UBUNTU_CODENAME") or None,
        name=name or Unknown("os-release has neither PRETTY_NAME nor NAME"),
    )


def _without_os_release(machine: Machine) -> Distribution:
    said = machine.line("/etc/redhat-release") or machine.line("/etc/system-release")
    why = Unknown("there is no os-release file in /etc and /usr/lib")
    if not said:
        return Distribution(id=why, version=why, codename=why, name=why)
    number = re.search(r"release (\d[\d.]*)", said)
    return Distribution(id=why, like=("rhel", "fedora"), version=number[1] if number else why, codename=why, name=said)


def _debian(distribution: Distribution) -> bool:
    return bool({"debian", "ubuntu"} & {text_of(distribution.id), *distribution.like})
