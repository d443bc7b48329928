"""What machines of one kind are expected to have in common: what `gpudoctor fleet` compares."""

from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.facts import Facts, Gpu, Python
from gpudoctor.facts.text_types import Number, Whole
from gpudoctor.maybe import Unknown
from gpudoctor.targets import gpus_of

Scalar = str | Whole | Number | bool | None

# Names as gpudoctor.toml writes them. Nothing that two like machines never share: no name, number or address of one.
MACHINE = (
    "host.architecture",
    "host.platform",
    "host.product",
    "host.container",
    "host.distribution.name",
    "host.kernel.release",
    "host.kernel.secure_boot",
    "host.memory",
    "host.cpus",
    "host.memlock",
    "host.numa_balancing",
    "host.selinux",
    "nvidia.kernel.loaded",
    "nvidia.kernel.flavor",
    "nvidia.kernel.fabric_manager",
    "nvidia.kernel.fabric_manager_version",
    "nvidia.kernel.imex",
    "nvidia.kernel.persistence_daemon",
    "nvidia.nvml.driver_version",
    "nvidia.nvml.confidential",
    "nvidia.cuda.version",
    "amd.rocm",
)
GPU = (
    "name",
    "vbios",
    "memory",
    "link_generation_max",
    "link_width_max",
    "link_width",
    "ecc",
    "mig",
    "persistence",
    "compute_mode",
    "power_limit",
    "sm_clock_max",
    "application_clock",
    "fabric_state",
)


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """Facts by their paths; what is unknown is not there, None is known to be absent.

    Attributes:
        machine: "nvidia.kernel.loaded": "580.95.05".
        gpus: of each GPU in the driver's order, "vbios": "96.00.61.00.01"; "nvlinks" counts those that are up.
        packages: of each examined interpreter by its path, {"torch": "2.9.0"}.
    """

    machine: dict[str, Scalar] = {}
    gpus: tuple[dict[str, Scalar], ...] = ()
    packages: dict[str, dict[str, str]] = {}


def inventory(facts: Facts) -> Inventory:
    """What there is to compare of a machine."""
    gpus = tuple(dict(_gpu(gpu)) for gpu in gpus_of(facts))
    machine = dict(_machine(facts))
    if not isinstance(facts.gpus, Unknown):
        machine["gpus"] = len(gpus)
    return Inventory(machine=machine, gpus=gpus, packages={p.path: _packages(p) for p in facts.pythons})


def _machine(facts: Facts) -> Iterator[tuple[str, Scalar]]:
    for path in MACHINE:
        value: Any = facts
        for step in path.split("."):
            value = getattr(value, step)
        if not isinstance(value, Unknown):
            yield path, value


def _gpu(gpu: Gpu) -> Iterator[tuple[str, Scalar]]:
    for name in GPU:
        if not isinstance(value := getattr(gpu, name), Unknown):
            yield name, value
    if not isinstance(gpu.nvlinks, Unknown):
        yield "nvlinks", None if gpu.nvlinks is None else sum(gpu.nvlinks)


def _packages(python: Python) -> dict[str, str]:
    packages = () if isinstance(python.packages, Unknown) else python.packages
    return {one.name: one.version for one in reversed(packages)}  # of two copies the first on sys.path is imported
