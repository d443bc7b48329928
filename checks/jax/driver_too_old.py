"""A JAX plugin for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.fixes.python import uninstall
from gpudoctor.maybe import phrase, present, text_of
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver_floor import behind_framework
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import OnFramework, jaxes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = on.framework.version if isinstance(on.framework.version, str) else None
    old = [p.name for p in packages_of(on.python) if p.name.startswith(f"jax-cuda{present(on.framework.cuda)}-")]
    fix = jax_with_plugin(on.facts, on.python, version, "Install the plugin for the CUDA major that this driver runs.")
    commands = (*((uninstall(on.python, *old),) if old else ()), *fix.tasks)
    smaller = Fix(fix.message, commands, fix.action, verify=fix.verify)
    return (smaller, *newer_driver(on.facts, present(on.framework.cuda)))


@check(
    title="The NVIDIA driver is too old for JAX's CUDA plugin",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones: JAX's plugin for CUDA 13 needs a driver of "
    "CUDA 13, the one for CUDA 12 a driver of CUDA 12.",
    fixes=_fixes,
    references=(
        "https://docs.jax.dev/en/latest/installation.html",
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    ),
    targets=jaxes,
    caused_by=(*CUDA_SYSTEM, "python.*", "jax.arch-missing", "jax.several-plugins"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """The plugin's CUDA major is newer than the driver's."""
    plugin = text_of(on.framework.plugin)
    name = plugin + phrase(" {}", on.framework.plugin_version) if plugin else on.name
    return behind_framework(on, name, then=", so JAX falls back to the CPU")
