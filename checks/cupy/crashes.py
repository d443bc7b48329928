"""CuPy is killed by a signal."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import starting

crashes = starting.crashes(CUPY, __name__, validated_on=("table 2026-11",))
