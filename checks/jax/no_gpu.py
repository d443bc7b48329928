"""JAX uses no GPU although one is there and no cause is known."""

from gpudoctor.checks.jax import JAX
from gpudoctor.families import starting

no_gpu = starting.no_gpu(JAX, __name__, also=("jax.several-plugins",), validated_on=("simulated 2026-11",))
