"""Queries about AMD's own driver (amdgpu-dkms and what comes with it), answered from facts alone."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.targets import amd_compute, has_amd, has_rocm

# AMD's packages of the driver and the base of ROCm, which no distribution has under these names.
_PACKAGES = ("amdgpu-dkms", "rock-dkms", "rocm-dkms", "amdgpu-core", "rocm-core")
_GONE = ("n", "c")  # dpkg: not installed, or only its settings are left


def amd_driver(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine of an AMD GPU where somebody computes, or wanted AMD's driver: its installation may have stopped."""
    if has_amd(facts) and _is_wanted(facts):
        yield MACHINE, facts
    else:
        yield from amd_compute(facts)


def _is_wanted(facts: Facts) -> bool:
    """Whether one of AMD's packages is there, whole or not, or a DKMS entry of its module."""
    packages = known_or(facts.amd.packages, ())
    there = any(name in _PACKAGES and state[1:2] not in _GONE for name, _, state in packages)
    return there or bool(known_or(facts.amd.dkms, None))


def works(facts: Facts) -> bool:
    """Whether /dev/kfd opens; where nothing that computes is installed yet, whether a module drives the GPU."""
    nodes = known_or(facts.amd.kfd, ())
    if nodes and nodes[0].error is None:
        return True
    wheel = any(isinstance(one.hip, str) for python in facts.pythons for one in python.frameworks)
    return facts.amd.loaded is True and not (wheel or has_rocm(facts))
