"""JAX with a cuDNN older than its plugin loads."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_verify
from gpudoctor.fixes.python import install
from gpudoctor.knowledge import jax
from gpudoctor.maybe import known, present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import family
from gpudoctor.queries.packages import major, numbers, wheels
from gpudoctor.targets import OnFramework, jaxes


def _lowest(on: OnFramework) -> str | None:
    plugin, number = on.framework.plugin, on.framework.plugin_version
    name = next((key for key, row in jax.jax().plugin.items() if row.package == plugin), None)
    return jax.lowest_cudnn(name, number) if name and isinstance(number, str) else None


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    lowest = present(_lowest(on))
    wheel = next(iter(wheels(on.python, "cudnn")), None)
    name = wheel.name if wheel else f"nvidia-cudnn-cu{present(on.framework.cuda)}"
    spec = f"{name}>={lowest},<{(major(lowest) or 9) + 1}"
    message = (
        f"Install cuDNN {lowest} or newer. Where PyTorch pins another version, keep the two in separate environments."
    )
    return (Fix(message, (install(on.python, spec),), "reinstall-package", verify=jax_verify(on.python)),)


@check(
    title="JAX finds an older cuDNN than it needs",
    severity=Severity.WARNING,
    cause="JAX's plugin refuses a cuDNN of another major or older than the one it was compiled with; another "
    "framework's pin, or a copy that is found first, brought it.",
    fixes=_fixes,
    references=("https://docs.jax.dev/en/latest/installation.html", "https://github.com/jax-ml/jax/issues/22416"),
    targets=jaxes,
    caused_by=("python.*", "libraries.*", "jax.plugin-skew", "jax.several-plugins"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def cudnn_too_old(on: OnFramework) -> Problem | None:
    """The cuDNN that the plugin gets is older than the lowest that it loads."""
    lowest = _lowest(on)
    if known(on.framework.cuda) is None or not nvidia_gpus(on.facts) or lowest is None:
        return None
    found = next(
        (n for n in known(on.framework.needs) if family(n.soname) == "libcudnn" and n.path and n.version), None
    )
    if found is None or numbers(found.version or "") >= numbers(lowest):
        return None
    live = on.framework.live
    refused = live is not None and live.available is False
    message = f"{on.name} needs cuDNN {lowest} or newer, and finds {present(found.version)} in {present(found.path)}."
    return Problem(message, severity=Severity.ERROR if refused else None)
