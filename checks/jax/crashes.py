"""JAX is killed by a signal."""

from gpudoctor.checks.jax import JAX
from gpudoctor.families import starting

crashes = starting.crashes(JAX, __name__, validated_on=("simulated 2026-11",))
