"""Queries about ROCm's runtime (ROCr) as `rocminfo` showed it, answered from facts alone."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About, Severity
from gpudoctor.facts import Facts, Rocminfo
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.frameworks import rocm_computes
from gpudoctor.targets import amd_compute, framework_name, gpus_of


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
        """The framework that uses an AMD GPU all the same."""
        found = rocm_computes(self.facts)
        return framework_name(found) if found else None

    @property
    def severity(self) -> Severity | None:
        """Of a failure of this runtime; it keeps nobody from a GPU who computes with another one."""
        return Severity.WARNING if self.works_elsewhere else None

    @property
    def consequence(self) -> str:
        """Who finds no GPU now."""
        other = f"; {self.works_elsewhere} does, with its own ROCm" if self.works_elsewhere else ""
        return f"Programs that use this ROCm ({self.rocr.path}) find no GPU{other}."

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
