"""The import of CuPy fails."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import starting

import_fails = starting.import_fails(CUPY, __name__, validated_on=("simulated 2026-11",))
