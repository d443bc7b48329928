"""A JAX plugin without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.jax import JAX
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.families.builds import GpuCode
from gpudoctor.knowledge import jax
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, present
from gpudoctor.targets import OnFramework


def _code(on: OnFramework) -> GpuCode | None:
    """Whatever is not below the plugin's lowest compute capability."""
    plugin = known(on.framework.plugin)
    row = next((p for p in jax.jax().plugin.values() if p.package == plugin), None)
    if row is None:
        return None
    lowest = row.lowest_capability
    return GpuCode(
        lambda capability: version(capability) >= version(lowest),
        lambda _: f"it requires compute capability {lowest} or newer",
    )


def _fixes(on: OnFramework, _: GpuCode, gpu: Gpu) -> tuple[Fix, ...]:
    if jax.plugin_for(present(gpu.capability)) is None:
        return (Fix("Use another GPU, or an older JAX built from source: no plugin has code for this one."),)
    return JAX.fitting(on)


arch_missing = builds.arch_missing(
    JAX,
    __name__,
    code=_code,
    fixes=_fixes,
    cause="CUDA 13 dropped GPUs before Turing (compute capability 7.5), and with it the plugin for CUDA 13.",
    references=(JAX.docs,),
    caused_by=("python.*", "jax.plugin-skew", "jax.several-plugins"),
    validated_on=("table 2026-11",),
)
