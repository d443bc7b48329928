"""JAX."""

from gpudoctor.check_engine import Fix
from gpudoctor.families import FrameworkFamily
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.maybe import phrase, text_of
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    number = text_of(on.framework.version) or None
    return (jax_with_plugin(on.facts, on.python, number, "Install the CUDA plugin that supports this GPU."),)


def _build(on: OnFramework) -> str:
    """The plugin, which alone is built for a CUDA release."""
    plugin = text_of(on.framework.plugin)
    return plugin + phrase(" {}", on.framework.plugin_version) if plugin else on.name


JAX = FrameworkFamily(
    "jax",
    "https://docs.jax.dev/en/latest/installation.html",
    _fitting,
    libraries=("jax.arch-missing", "jax.cudnn-too-old", "jax.driver-too-old", "jax.libraries-missing"),
    packages=("jax.plugin-skew",),
    cpu_build="jax.cpu-only",
    build=_build,
)
