"""A JAX plugin built for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.jax import JAX
from gpudoctor.facts import Python
from gpudoctor.families import builds
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.fixes.python import uninstall
from gpudoctor.maybe import present, text_of
from gpudoctor.queries.packages import packages_of, wanted_by
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    """The older plugin in place of the newer one, which would be taken first."""
    major = present(on.framework.cuda)
    old = [p.name for p in packages_of(on.python) if p.name.startswith(f"jax-cuda{major}-")]
    old += _libraries(on.python, f"-cu{major}", old)
    number, message = text_of(on.framework.version) or None, "Install the plugin for this driver's CUDA major."
    fix = jax_with_plugin(on.facts, on.python, number, message)
    commands = (*((uninstall(on.python, *old),) if old else ()), *fix.tasks)
    return (Fix(fix.message, commands, fix.action, verify=fix.verify),)


def _libraries(python: Python, suffix: str, old: list[str]) -> list[str]:
    """NVIDIA's wheels of that CUDA that nothing else needs: they lie at the paths of those of the other CUDA."""
    wheels = [p.name for p in packages_of(python) if p.name.startswith("nvidia-") and p.name.endswith(suffix)]
    return [name for name in wheels if wanted_by(python, (name,), but=(*old, *wheels)) is None]


driver_too_old = builds.driver_too_old(
    JAX,
    __name__,
    fitting=_fitting,
    causes=("jax.arch-missing", "jax.several-plugins"),
    then=", so JAX falls back to the CPU",
    validated_on=("simulated 2026-11",),
)
