"""The import of JAX fails."""

from gpudoctor.checks.jax import JAX
from gpudoctor.families import starting

import_fails = starting.import_fails(JAX, __name__, validated_on=("table 2026-11",))
