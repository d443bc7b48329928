"""Compiled code of other packages that links against PyTorch: what it needs and does not find."""

from collections.abc import Sequence

from gpudoctor.facts.python import Extension
from gpudoctor.machine import Machine
from gpudoctor.probes.python_packages import Found, Names


def probe(machine: Machine, prefix: str, found: Sequence[Found], names: Names) -> tuple[Extension, ...]:
    """Every library of the known extensions that needs a library of PyTorch's."""
    return ()
