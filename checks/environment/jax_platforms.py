"""JAX_PLATFORMS keeps JAX from using the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_verify
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.maybe import known, present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.targets import OnFramework, jaxes

# JAX reads the first of these that is set; the second is the older name.
VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
_GPU = {"cuda", "gpu"}


def _set(on: OnFramework) -> str | None:
    env = on.facts.host.environment
    return next((name for name in VARIABLES if env.get(name, "").strip()), None)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    name, verify = present(_set(on)), jax_verify(on.python)
    return unset(on.facts, name, verify=verify), assign(name, "cuda,cpu", "List the GPU before the CPU.", verify)


@check(
    title="JAX_PLATFORMS or JAX_PLATFORM_NAME keeps JAX from using the GPU",
    severity=Severity.ERROR,
    cause="The variable lists the platforms that JAX may use, in order. JAX silently ignores platforms that are not "
    "in the list.",
    fixes=_fixes,
    references=("https://docs.jax.dev/en/latest/config_options.html",),
    targets=jaxes,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def jax_platforms(on: OnFramework) -> Problem | None:
    """JAX with a CUDA plugin and an NVIDIA GPU, and a list without either of its names."""
    name = _set(on)
    if name is None or known(on.framework.variant) != "cuda" or not nvidia_gpus(on.facts):
        return None
    value = on.facts.host.environment[name]
    if _GPU & {platform.strip().lower() for platform in value.split(",")}:
        return None
    return Problem(f"{name}={value} keeps {on.name} from using the GPU.", (f"{name}={value}",))
