"""What machine this is: everything that is settled before any GPU is asked."""

import re

from gpudoctor.facts.host import Distribution, Host
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, text_of
from gpudoctor.parsers.os_release import os_release
from gpudoctor.probes import container as containers
from gpudoctor.probes import wsl
from gpudoctor.probes.host import (
    directories,
    environment,
    kernel,
    limits,
    nccl,
    network,
    platform,
    selinux,
    sources,
    state,
)
from gpudoctor.probes.host import user as host_user


def probe(machine: Machine) -> Host:
    """Find out what machine this is; reads a few dozen small files and, seldom, asks mokutil or getenforce."""
    seen = containers.probe(machine)
    windows = wsl.version(machine)
    user = host_user.user(machine)
    distribution = _distribution(machine)
    cgroups = limits.Cgroups(machine)
    total, available = limits.memory(machine)
    return Host(
        architecture=machine.architecture(),
        hostname=_hostname(machine),
        platform=platform.platform(machine, container=seen.name, wsl=windows),
        distribution=distribution,
        kernel=kernel.kernel(
            machine,
            inside=seen.name is not None,
            debian=_debian(distribution),
            wsl=windows,
            ubuntu=distribution.id == "ubuntu",
        ),
        product=platform.product(machine),
        virtual=platform.hypervisor(machine),
        container=seen.name,
        kubernetes=seen.kubernetes,
        wsl=windows,
        cgroup=cgroups.version(),
        memory=total,
        memory_available=available,
        memory_limit=cgroups.memory_limit(total),
        memory_kills=cgroups.memory_kills(),
        cpus=limits.cpus(machine, cgroups),
        memlock=machine.memlock(),
        shm=limits.shm(machine),
        directories=directories.folders(machine, host_user.home(machine)),
        user=user,
        selinux=selinux.selinux(machine),
        environment=environment.environment(machine),
        nccl_settings=nccl.settings(machine),
        working_directory_shadows=directories.shadows(machine),
        uptime=state.uptime(machine, container=seen.name),
        mains=state.mains(machine),
        power_profile=state.power_profile(machine),
        cpu_list=state.cpu_list(machine),
        numa_balancing=state.numa_balancing(machine),
        address_space=state.address_space(machine),
        may_lock=state.may_lock(machine),
        seccomp=state.seccomp(machine),
        rdma=state.rdma(machine),
        rdma_devices=network.rdma_devices(machine),
        rdma_library=network.rdma_library(machine),
        plugin_off_path=network.plugin_off_path(machine),
        interfaces=network.interfaces(machine),
        l4t=state.l4t(machine),
        ignored_preloads=state.ignored_preloads(machine),
        cpu_flags=state.cpu_flags(machine),
        thunderbolt=state.thunderbolt(machine),
        sources=sources.sources(machine, distribution),
        pins=sources.pins(machine),
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
        variant=fields.get("VARIANT_ID") or None,
    )


def _without_os_release(machine: Machine) -> Distribution:
    said = machine.line("/etc/redhat-release") or machine.line("/etc/system-release")
    why = Unknown("there is no os-release file in /etc and /usr/lib")
    if not said:
        return Distribution(id=why, version=why, codename=why, name=why, variant=why)
    number = re.search(r"release (\d[\d.]*)", said)
    version = number[1] if number else why
    like = ("rhel", "fedora")
    return Distribution(id=why, like=like, version=version, codename=why, name=said, variant=None)


def _debian(distribution: Distribution) -> bool:
    return bool({"debian", "ubuntu"} & {text_of(distribution.id), *distribution.like})
