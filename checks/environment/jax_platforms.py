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


_BOTH = (
    "The variable lists the platforms that JAX has to start, in order. The name gpu stands for cuda and rocm: where "
    "one of them cannot start, JAX ends with its error."
)


def _of_rocm(on: OnFramework) -> str:
    """The error of the platform rocm, which "gpu" asks for next to cuda; "" where there is none."""
    env, live = on.facts.host.environment, on.framework.live
    listed = env.get(_set(on) or "", "").lower().replace(" ", "").split(",")
    error = live.error if live and isinstance(live.error, str) else ""
    return error[:500] if "gpu" in listed and "'rocm'" in error else ""


def _set(on: OnFramework) -> str | None:
    env = on.facts.host.environment
    return next((name for name in VARIABLES if env.get(name, "").strip()), None)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    name, verify = present(_set(on)), jax_verify(on.python)
    if _of_rocm(on):
        return assign(name, "cuda,cpu", "Name the platform that is there.", verify), unset(
            on.facts, name, verify=verify
        )
    return unset(on.facts, name, verify=verify), assign(name, "cuda,cpu", "List the GPU before the CPU.", verify)


@check(
    title="JAX_PLATFORMS or JAX_PLATFORM_NAME keeps JAX from using the GPU",
    severity=Severity.ERROR,
    cause="The variable lists the platforms that JAX may use, in order. JAX silently ignores platforms that are not "
    "in the list.",
    fixes=_fixes,
    references=("https://docs.jax.dev/en/latest/config_options.html", "https://github.com/jax-ml/jax/issues/25315"),
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
    if error := _of_rocm(on):
        message = (
            f"{name}={value} keeps {on.name} from using the GPU: gpu stands for cuda and rocm, and JAX wants both."
        )
        return Problem(message, (f"{name}={value}", error), _BOTH)
    if _GPU & {platform.strip().lower() for platform in value.split(",")}:
        return None
    return Problem(f"{name}={value} keeps {on.name} from using the GPU.", (f"{name}={value}",))
