"""JAX without its CUDA plugin beside an NVIDIA GPU."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge.python_rules import computes_with_jax
from gpudoctor.maybe import known
from gpudoctor.remedies.frameworks import jax_with_plugin
from gpudoctor.subjects import OnFramework, gpu_name, jaxes
from gpudoctor.views.frameworks import is_sole
from gpudoctor.views.gpus import nvidia_gpus
from gpudoctor.views.packages import packages_of


def _users(on: OnFramework) -> list[str]:
    """Installed packages whose own work JAX does."""
    return [p.name for p in packages_of(on.python) if computes_with_jax(p.name)]


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = on.framework.version if isinstance(on.framework.version, str) else None
    says = "Install JAX with the CUDA plugin of its own version, which brings the CUDA libraries too."
    return (jax_with_plugin(on.facts, on.python, version, says),)


@check(
    title="JAX is installed without its CUDA plugin: it computes on the CPU",
    severity=Severity.ERROR,
    cause="`pip install jax`, or a package that requires jax, brings the CPU-only jaxlib; GPU support is a plugin that "
    "comes with the extra cuda12 or cuda13 only.",
    fixes=_fixes,
    references=(
        "https://docs.jax.dev/en/latest/installation.html",
        "https://github.com/ziatdinovmax/gpax/issues/63",
    ),
    each=jaxes,
    because=("python.*",),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def cpu_only(on: OnFramework) -> Problem | None:
    """No plugin beside a GPU, where JAX is what computes here; as another package's dependency it may stay so."""
    gpus, users = nvidia_gpus(on.facts), _users(on)
    if known(on.framework.variant) != "cpu" or not gpus or known(on.framework.plugin) is not None:
        return None
    sole = is_sole(on.python, on.framework)
    if not sole and not users:
        return None
    wanted = f" {' and '.join(users[:3])} compute with it." if users else ""
    says = f"{on.name} is CPU-only: no CUDA plugin is installed, and {gpu_name(gpus[0])} lies idle.{wanted}"
    return Problem(says, severity=None if sole else Severity.WARNING)
