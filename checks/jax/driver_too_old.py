"""A JAX plugin built for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.jax import JAX
from gpudoctor.families import builds
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.fixes.python import uninstall
from gpudoctor.maybe import present, text_of
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    """The older plugin in place of the newer one, which would be taken first."""
    old = [p.name for p in packages_of(on.python) if p.name.startswith(f"jax-cuda{present(on.framework.cuda)}-")]
    number, message = text_of(on.framework.version) or None, "Install the plugin for this driver's CUDA major."
    fix = jax_with_plugin(on.facts, on.python, number, message)
    commands = (*((uninstall(on.python, *old),) if old else ()), *fix.tasks)
    return (Fix(fix.message, commands, fix.action, verify=fix.verify),)


driver_too_old = builds.driver_too_old(
    JAX,
    __name__,
    fitting=_fitting,
    causes=("jax.arch-missing", "jax.several-plugins"),
    then=", so JAX falls back to the CPU",
    validated_on=("simulated 2026-11",),
)
