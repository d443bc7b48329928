"""CuPy hangs on import or when it asks for GPUs."""

from gpudoctor.checks.cupy import CUPY
from gpudoctor.families import starting

import_hangs = starting.import_hangs(CUPY, __name__, validated_on=("table 2026-11",))
