"""A JAX plugin for a CUDA major that the driver does not run."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known
from gpudoctor.remedies.cuda import newer_driver
from gpudoctor.remedies.frameworks import jax_with_plugin
from gpudoctor.remedies.python import uninstall
from gpudoctor.subjects import OnFramework, jaxes
from gpudoctor.views.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.views.gpus import nvidia_gpus
from gpudoctor.views.packages import packages_of
from gpudoctor.views.reasons import CUDA_SYSTEM


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = on.framework.version if isinstance(on.framework.version, str) else None
    old = [p.name for p in packages_of(on.python) if p.name.startswith(f"jax-cuda{on.framework.cuda}-")]
    fix = jax_with_plugin(on.facts, on.python, version, "Install the plugin for the CUDA major that this driver runs.")
    commands = (*((uninstall(on.python, *old),) if old else ()), *fix.tasks)
    smaller = Fix(fix.says, commands, fix.action, verify=fix.verify)
    return (smaller, *newer_driver(on.facts, str(on.framework.cuda)))


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
    each=jaxes,
    because=(*CUDA_SYSTEM, "python.*", "jax.arch-missing", "jax.several-plugins"),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """The plugin's CUDA major is newer than the driver's."""
    cuda = known(on.framework.cuda)
    if cuda is None or not nvidia_gpus(on.facts):
        return None
    driver = known(driver_cuda(on.facts))
    if driver is None or driver_runs(cuda, driver):
        return None
    floor = drivers.minimum_driver(cuda)
    says = (
        f"{on.framework.plugin or on.name} {on.framework.plugin_version or ''} is for CUDA {cuda} and requires driver "
        f"{floor} or newer; the {driver_words(on.facts)} is too old and supports at most CUDA {driver}, so JAX falls "
        "back to the CPU."
    )
    live = on.framework.live
    return Problem(says, (live.error[:800],) if live and isinstance(live.error, str) else ())
