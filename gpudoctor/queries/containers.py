"""Targets of checks about containers and their hosts, and questions that several of them ask."""

from collections.abc import Iterator
from typing import TypeVar

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.facts.container_host import CdiGone, CdiNode
from gpudoctor.knowledge.container_toolkit import container_toolkit
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import (
    asked_for_nvidia,
    asks_for_nvidia,
    cards_of,
    gpus_of,
    has_dxg,
    in_container,
    on_wsl,
    wants_nvidia,
)

_Entry = TypeVar("_Entry", CdiGone, CdiNode)
Subjects = Iterator[tuple[About, Facts]]


def nvidia_container(facts: Facts) -> Subjects:
    """The container on a machine where NVIDIA hardware or its driver exists or is wanted."""
    if in_container(facts) and facts.host.platform != "jetson" and wants_nvidia(facts):
        yield MACHINE, facts


def windows_gpu(facts: Facts) -> Subjects:
    """WSL, 1 or 2, and Hyper-V guests with a share of the GPU: the driver is Windows's."""
    if isinstance(facts.host.wsl, int) or has_dxg(facts):
        yield MACHINE, facts


def container_host(facts: Facts) -> Subjects:
    """The machine with NVIDIA's GPU that is no container."""
    if not in_container(facts) and (cards_of(facts, "nvidia") or gpus_of(facts, "nvidia")):
        yield MACHINE, facts


def engine_host(facts: Facts) -> Subjects:
    """The machine that is no container and no WSL: its container engine, if it has one, is its own."""
    if not in_container(facts) and not on_wsl(facts):
        yield MACHINE, facts


def own_engine_host(facts: Facts) -> Subjects:
    """The same, and a WSL distribution with Podman, which is its own there: Docker is mostly Docker Desktop's."""
    if on_wsl(facts) and not in_container(facts) and isinstance(facts.containers.podman, str):
        yield MACHINE, facts
    yield from engine_host(facts)


def docker_host(facts: Facts) -> Subjects:
    """The machine with NVIDIA's GPU and Docker that is no container; Docker Desktop has its own toolkit."""
    docker = facts.containers.docker
    if isinstance(docker, str) and facts.containers.docker_desktop is not True:
        yield from container_host(facts)


def gpu_nodes(facts: Facts) -> tuple[DeviceNode, ...]:
    """The nodes of GPUs themselves: /dev/nvidia0 and so on.

    Raises:
        UnknownFactError: /dev could not be read.
    """
    return tuple(n for n in known(facts.nvidia.kernel.nodes) if n.path.removeprefix("/dev/nvidia").isdigit())


def needed_nodes(facts: Facts) -> tuple[DeviceNode, ...]:
    """The nodes that computing opens: control, unified memory and the GPUs."""
    common = ("/dev/nvidiactl", "/dev/nvidia-uvm")
    return tuple(n for n in known(facts.nvidia.kernel.nodes) if n.path in common) + gpu_nodes(facts)


def refused(facts: Facts, errno: str) -> tuple[DeviceNode, ...]:
    """The needed nodes that return this errno, where that stops computing.

    A control group that grants some of the GPUs and not others is how schedulers share a machine: GPU nodes count
    only where none of them opens.
    """
    gpus = gpu_nodes(facts)
    shut = [n for n in needed_nodes(facts) if n.error == errno]
    some_open = any(n.error is None or isinstance(n.error, Unknown) for n in gpus)
    return tuple(n for n in shut if not (n in gpus and some_open))


def in_effect(entries: tuple[_Entry, ...]) -> list[_Entry]:
    """What a container gets: of specifications with the same devices, those in /var/run/cdi count."""
    again = {one.kind for one in entries if one.file.startswith("/var/")}
    return [one for one in entries if one.file.startswith("/var/") or one.kind not in again]


def gpu_files(nodes: list[CdiNode]) -> set[str]:
    """The specifications among these nodes' that pass whole GPUs in."""
    return {n.file for n in nodes if n.kind.endswith("nvidia.com/gpu") and n.path[len("/dev/nvidia") :].isdigit()}


def takes_cdi(facts: Facts) -> bool | None:
    """Whether an engine here takes GPUs from a CDI specification as a rule (False: on request; None: no engine)."""
    found = facts.containers
    docker = found.docker_cdi is True
    since = numbers(container_toolkit().cdi.gpus_by_cdi)
    usual = docker and numbers(known_or(found.docker_version, None) or "0") >= since
    if usual or isinstance(found.podman, str) or found.runtime_mode == "cdi" or facts.cluster.kubelet is True:
        return True
    return False if docker else None


def has_cuda_wheel(facts: Facts) -> bool:
    """Whether a framework built for CUDA is installed in one of the checked environments."""
    return any(isinstance(f.cuda, str) for p in facts.pythons for f in p.frameworks)


def requests_gpu(facts: Facts) -> bool:
    """Whether a GPU is wanted here: a framework for CUDA, driver libraries, or the variable that requests GPUs."""
    return asks_for_nvidia(facts) or has_cuda_wheel(facts) or asked_for_nvidia(facts)


def has_framework(facts: Facts, *names: str) -> bool:
    """Whether one of the frameworks is installed in a checked environment."""
    return any(f.name in names for p in facts.pythons for f in p.frameworks)


def size(number: int) -> str:
    """Bytes as text: "64 MiB", "23.6 GiB"."""
    if number >= 1 << 30:
        return f"{number / (1 << 30):.1f}".removesuffix(".0") + " GiB"
    return f"{number >> 20} MiB" if number >= 1 << 20 else f"{number >> 10} KiB"
