"""JAX hangs on import or when it asks for GPUs."""

from gpudoctor.checks.jax import JAX
from gpudoctor.families import starting

import_hangs = starting.import_hangs(JAX, __name__, validated_on=("table 2026-11",))
