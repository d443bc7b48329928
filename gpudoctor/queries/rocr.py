"""Queries about ROCm's runtime (ROCr) as `rocminfo` showed it, answered from facts alone."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About, Severity
from gpudoctor.facts import Facts, Rocminfo
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import amd_compute, built_for, framework_name, gpu_name, gpus_of


def asks_for_kfd(rocr: Rocminfo) -> bool:
    """Whether rocminfo ended because it could not open the compute driver's node."""
    return any("/dev/kfd" in line for line in rocr.lines)


def lists_none(rocr: Rocminfo) -> bool:
    """Whether it ended well, and no agent is a GPU."""
    return not (rocr.agents or rocr.hung or rocr.died or rocr.status or asks_for_kfd(rocr))


class OnRocr(msgspec.Struct, frozen=True):
    """The installed ROCm's runtime."""

    facts: Facts
    rocr: Rocminfo

    @property
    def works_elsewhere(self) -> str | None:
        """A framework that uses an AMD GPU all the same: wheels bring a runtime of their own."""
        for python in self.facts.pythons:
            for one in python.frameworks:
                if built_for(one) == "amd" and one.live is not None and one.live.available is True:
                    return framework_name(one)
        return None

    @property
    def severity(self) -> Severity | None:
        """Of a failure of this runtime; it keeps nobody from a GPU who computes with another one."""
        return Severity.WARNING if self.works_elsewhere else None

    @property
    def consequence(self) -> str:
        """Who finds no GPU now."""
        if self.works_elsewhere:
            return f"Programs that use the installed ROCm find no GPU; {self.works_elsewhere} does, with its own ROCm."
        listed = gpus_of(self.facts, "amd")
        which = gpu_name(listed[0]) if len(listed) == 1 else "an AMD GPU"
        return f"No program can use {which} through ROCm."

    @property
    def targets(self) -> tuple[str, ...]:
        """The gfx targets of the GPUs that the kernel lists."""
        found = (known_or(gpu.gfx, None) for gpu in gpus_of(self.facts, "amd"))
        return tuple(dict.fromkeys(filter(None, found)))


def asked_rocr(facts: Facts) -> Iterator[tuple[About, OnRocr]]:
    """The machine where `rocminfo` is installed and AMD's GPUs are meant for compute.

    Raises:
        UnknownFactError: it could not be run, or this was a quick check.
    """
    for about, _ in amd_compute(facts):
        for found in known(facts.amd.rocminfo):
            yield about, OnRocr(facts, found)
