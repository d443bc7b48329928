"""CuPy uses no GPU although one is there and no cause is known."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import starting

no_gpu = starting.no_gpu(CUPY, __name__, validated_on=("simulated 2026-11",))
