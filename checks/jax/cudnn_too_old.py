"""JAX with a cuDNN older than its plugin loads."""

from gpudoctor.check_engine import Severity
from gpudoctor.checks.jax import JAX
from gpudoctor.families import builds
from gpudoctor.knowledge import jax
from gpudoctor.targets import OnFramework


def _lowest(on: OnFramework) -> str | None:
    plugin, number = on.framework.plugin, on.framework.plugin_version
    name = next((key for key, row in jax.jax().plugin.items() if row.package == plugin), None)
    return jax.lowest_cudnn(name, number) if name and isinstance(number, str) else None


def _severity(on: OnFramework) -> Severity | None:
    """An error where JAX has refused it."""
    live = on.framework.live
    return Severity.ERROR if live is not None and live.available is False else None


cudnn_too_old = builds.cudnn_too_old(
    JAX,
    __name__,
    lowest=_lowest,
    severity_of=_severity,
    severity=Severity.WARNING,
    cause="JAX's plugin refuses a cuDNN of another major or older than the one it was compiled with; another "
    "framework's pin, or a copy that is found first, brought it.",
    references=(JAX.docs, "https://github.com/jax-ml/jax/issues/22416"),
    caused_by=("python.*", "libraries.*", "jax.plugin-skew", "jax.several-plugins"),
    validated_on=("environment 2026-11",),
)
