"""JAX's plugin without the CUDA libraries that it opens."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_with_plugin
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.libraries import cuda_majors
from gpudoctor.targets import OnFramework, jaxes

# The words of jax_plugins/xla_cuda12/__init__.py, _check_cuda_versions.
_ABSENT = pattern(r"Unable to load (\w+)\. Is it installed\?")


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    number = text_of(on.framework.version) or None
    message = "Install JAX in the same version with the extra that brings the CUDA libraries as wheels."
    return (jax_with_plugin(on.facts, on.python, number, message, f"cuda{text_of(on.framework.cuda)}"),)


@check(
    title="CUDA libraries of JAX are not installed",
    severity=Severity.ERROR,
    cause="The extras cuda12 and cuda13 bring the CUDA libraries as nvidia-* wheels. The extras cuda12-local and "
    "cuda13-local, and the plugin alone, bring none: they use a CUDA toolkit and a cuDNN that the loader has to find.",
    fixes=_fixes,
    references=(
        "https://docs.jax.dev/en/latest/installation.html",
        "https://github.com/jax-ml/jax/issues/24180",
    ),
    targets=jaxes,
    caused_by=("python.*", "jax.driver-too-old", "libraries.wheel-incomplete", "libraries.wheel-missing"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def libraries_missing(on: OnFramework) -> Problem | None:
    """The plugin says which library it cannot load, and no wheel or toolkit has a CUDA run-time of its major."""
    live, major = on.framework.live, known(on.framework.cuda)
    words = live.error if live is not None and isinstance(live.error, str) else ""
    found = _ABSENT.search(words)
    if found is None or not major or int(major) in cuda_majors(on.facts, on.python):
        return None
    message = (
        f"{on.name} does not load {found[1]}: its plugin is built for CUDA {major}, and neither nvidia-* wheels nor a "
        f"toolkit that the loader finds have the libraries of CUDA {major}."
    )
    return Problem(message, (found[0],))
