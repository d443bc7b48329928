"""JAX with a ptxas that does not support the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import jax_verify, jax_with_plugin
from gpudoctor.fixes.python import install
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import known
from gpudoctor.queries.capability import gpu_words, sm
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers, wheels
from gpudoctor.targets import OnFramework, jaxes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    wheel = next(iter(wheels(on.python, "cuda-nvcc")))
    message = "Install a newer nvcc wheel of the same CUDA major."
    newer = Fix(
        message, (install(on.python, wheel.name, upgrade=True),), "reinstall-package", verify=jax_verify(on.python)
    )
    return newer, jax_with_plugin(on.facts, on.python, None, "Install a newer JAX with its plugin.")


@check(
    title="ptxas is too old for this GPU",
    severity=Severity.WARNING,
    cause="JAX compiles with ptxas from the wheel nvidia-cuda-nvcc; one that is older than the GPU cannot generate "
    "code for its compute capability.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",),
    targets=jaxes,
    caused_by=("python.*", "jax.plugin-skew", "jax.driver-too-old", "jax.arch-missing"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def ptxas_too_old(on: OnFramework) -> Problem | None:
    """The wheel with ptxas is older than the first toolkit that compiles for the GPU."""
    wheel = next(iter(wheels(on.python, "cuda-nvcc")), None)
    if known(on.framework.cuda) is None or wheel is None:
        return None
    for gpu in visible_gpus(on.facts):
        capability = known(gpu.capability)
        first = toolkits_of(capability)[0] if capability and toolkits_of(capability) else None  # type: ignore[index]
        if capability and first and numbers(wheel.version)[:2] < numbers(first)[:2]:
            return Problem(
                f"{wheel.name} {wheel.version} does not support {sm(capability)} of {gpu_words(gpu)}; CUDA {first} is "
                "the first release that does."
            )
    return None
