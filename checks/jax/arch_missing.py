"""A JAX plugin without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.knowledge import jax
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, present
from gpudoctor.queries.capability import gpu_words, severity_of
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, jaxes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    number = on.framework.version if isinstance(on.framework.version, str) else None
    gpu = next(iter(visible_gpus(on.facts)))
    if not isinstance(gpu.capability, str) or jax.plugin_for(gpu.capability) is None:
        return (Fix("Use another GPU, or an older JAX built from source: no plugin has code for this one."),)
    return (jax_with_plugin(on.facts, on.python, number, "Install the plugin that still serves this GPU."),)


@check(
    title="JAX's CUDA plugin has no code for this GPU's compute capability",
    severity=Severity.ERROR,
    cause="CUDA 13 dropped GPUs before Turing (compute capability 7.5), and with it the plugin for CUDA 13.",
    fixes=_fixes,
    references=("https://docs.jax.dev/en/latest/installation.html",),
    targets=jaxes,
    caused_by=("python.*", "jax.plugin-skew", "jax.several-plugins"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def arch_missing(on: OnFramework) -> Problem | None:
    """The GPU is below the plugin's lowest compute capability."""
    plugin = known(on.framework.plugin)
    row = next((p for p in jax.jax().plugin.values() if p.package == plugin), None)
    if row is None:
        return None
    gpus = [g for g in visible_gpus(on.facts) if known(g.capability)]
    ill = [g for g in gpus if version(present(g.capability)) < version(row.lowest_capability)]
    if not ill or len(ill) < len(gpus):
        return None
    return Problem(
        f"{row.package} starts at compute capability {row.lowest_capability}; it has no code for {gpu_words(ill[0])}.",
        severity=severity_of(on.facts),
    )
