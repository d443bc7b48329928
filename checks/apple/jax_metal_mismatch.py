"""Apple's JAX plugin is older than JAX."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, uninstall, version_of
from gpudoctor.knowledge import apple
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, present
from gpudoctor.queries.apple import mac_jaxes
from gpudoctor.targets import OnFramework
from gpudoctor.tasks import query

_NAME = "jax-metal"


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    newest = apple.apple().jax.newest
    proof = query(on.python.path, "-c", "import jax; print(jax.devices())")
    undo = install(on.python, f"{_NAME}=={present(version_of(on.python, _NAME))}")
    message = "Remove the plugin: JAX then runs on the CPU."
    remove = Fix(message, (uninstall(on.python, _NAME),), "reinstall-package", undo=(undo,), verify=proof)
    message = (
        f"Install the JAX version that it was built for ({newest}); the plugin is experimental and supports only part "
        "of JAX."
    )
    pair = install(on.python, f"jax=={newest}", f"jaxlib=={newest}")
    return (remove, Fix(message, (pair,), "reinstall-package", verify=proof))


@check(
    title="jax-metal is older than this JAX",
    severity=Severity.WARNING,
    cause="The plugin implements the interface (PJRT, StableHLO) of the JAX that it was built for; newer versions "
    "send it programs that it cannot read. Apple has released none since 0.1.1 (October 2024).",
    fixes=_fixes,
    references=("https://developer.apple.com/metal/jax/", "https://pypi.org/project/jax-metal/"),
    targets=mac_jaxes,
    caused_by=("python.*", "apple.rosetta-python"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def jax_metal_mismatch(on: OnFramework) -> Problem | None:
    """It is installed, and JAX is newer by a minor release."""
    own = version_of(on.python, _NAME)
    if own is None:
        return None
    jax = known(on.framework.version)
    if jax is None or version(jax)[:2] <= version(apple.apple().jax.newest)[:2]:
        return None
    return Problem(f"{_NAME} {own} is installed with JAX {jax}, which is newer than it supports.")
