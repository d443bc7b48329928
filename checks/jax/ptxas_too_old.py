"""JAX with a ptxas that does not support the GPU, or with an older one on PATH than its own."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Nvcc, Package
from gpudoctor.fixes.frameworks import jax_verify, jax_with_plugin
from gpudoctor.fixes.python import install
from gpudoctor.knowledge import jax
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import known, known_or, present, text_of
from gpudoctor.queries.capability import gpu_words, sm
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers, wheels
from gpudoctor.targets import OnFramework, jaxes
from gpudoctor.tasks import export


class _Ptxas(msgspec.Struct, frozen=True):
    """The ptxas that JAX runs: that of the wheel, or the one in the directory of an nvcc on PATH."""

    name: str
    version: str
    wheel: Package | None
    first: Nvcc | None


def _ptxas(on: OnFramework) -> _Ptxas | None:
    """The ptxas that JAX finds first; None where neither a wheel nor PATH has one."""
    wheel = next(iter(wheels(on.python, "cuda-nvcc")), None)
    number = text_of(on.framework.version)
    if number[:1].isdigit() and jax.prefers_path(number):
        nvcc = next((n for n in known_or(on.facts.toolkits.nvccs, ()) if n.on_path), None)
        if nvcc and isinstance(nvcc.version, str):
            return _Ptxas(f"ptxas {nvcc.version} of {_folder(nvcc)}, first on PATH,", nvcc.version, wheel, nvcc)
    return _Ptxas(f"{wheel.name} {wheel.version}", wheel.version, wheel, None) if wheel else None


def _folder(nvcc: Nvcc) -> str:
    return nvcc.path.rpartition("/")[0]


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found = _ptxas(on)
    newest = jax_with_plugin(on.facts, on.python, None, "Install a newer JAX with its plugin.")
    if found is None:
        return ()
    if found.first is None:
        message, name = "Install a newer nvcc wheel of the same CUDA major.", present(found.wheel).name
        command = install(on.python, name, upgrade=True)
        return (Fix(message, (command,), "reinstall-package", verify=jax_verify(on.python)), newest)
    rest = [
        f for f in on.facts.host.environment.get("PATH", "").split(":") if f and f.rstrip("/") != _folder(found.first)
    ]
    if not found.wheel or not rest or _folder(found.first) in ("/usr/bin", "/bin"):
        return (newest,)
    message = f"Take {_folder(found.first)} off PATH where JAX runs; it then uses the ptxas of {found.wheel.name}."
    return (Fix(message, (export("PATH", ":".join(rest)),), "change-environment", verify=jax_verify(on.python)), newest)


@check(
    title="ptxas is too old for this GPU, or for JAX",
    severity=Severity.WARNING,
    cause="JAX compiles with ptxas from the wheel nvidia-cuda-nvcc; releases up to 0.4.38 prefer one that is on PATH. "
    "A ptxas that is older than the GPU cannot generate code for its compute capability; one that is older than the "
    "wheel's may not know the PTX version that this JAX writes ('Unsupported .version').",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
        "https://github.com/jax-ml/jax/issues/18578",
        "https://github.com/jax-ml/jax/issues/25718",
    ),
    targets=jaxes,
    caused_by=("python.*", "jax.plugin-skew", "jax.driver-too-old", "jax.arch-missing"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def ptxas_too_old(on: OnFramework) -> Problem | None:
    """The ptxas that JAX runs is older than the first toolkit that compiles for the GPU, or than the wheel's."""
    found = _ptxas(on) if known(on.framework.cuda) is not None else None
    if found is None:
        return None
    own = numbers(found.version)[:2]
    for gpu in visible_gpus(on.facts):
        capability = known(gpu.capability)
        first = toolkits_of(capability)[0] if capability and toolkits_of(capability) else None  # type: ignore[index]
        if capability and first and own < numbers(first)[:2]:
            return Problem(
                f"{found.name} does not support {sm(capability)} of {gpu_words(gpu)}; CUDA {first} is the first "
                "release that does."
            )
    wheel = found.wheel if found.first else None
    if wheel and visible_gpus(on.facts) and own < numbers(wheel.version)[:2]:
        return Problem(f"{on.name} runs {found.name} before that of {wheel.name} {wheel.version}, which is newer.")
    return None
