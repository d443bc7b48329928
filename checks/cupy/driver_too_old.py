"""CuPy built for a CUDA major that the driver does not run."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import builds

driver_too_old = builds.driver_too_old(
    CUPY, __name__, causes=("cupy.several-packages",), validated_on=("simulated 2026-11",)
)
