"""Which CUDA and ROCm libraries a framework needs, and where each would come from."""

from gpudoctor.facts.framework import Framework, Need
from gpudoctor.facts.python import Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown


def probe(machine: Machine, python: Python, framework: Framework) -> Maybe[tuple[Need, ...]]:
    """Return the libraries; not written yet."""
    return Unknown("not written")
