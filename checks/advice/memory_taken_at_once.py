"""TensorFlow or JAX with another framework: the first preallocates the GPU's memory."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.queries.advice import computing
from gpudoctor.targets import NAMES, OnFramework, nvidia_hardware
from gpudoctor.tasks import export, unset

_GROWTH = {"tensorflow": "TF_FORCE_GPU_ALLOW_GROWTH=true", "jax": "XLA_PYTHON_CLIENT_PREALLOCATE=false"}
_SHARE = {"tensorflow": "nearly all", "jax": "three quarters"}
# Each of these already keeps a framework from preallocating it all.
_SETTINGS = {
    "tensorflow": ("TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR"),
    "jax": ("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR"),
}


def _greedy(facts: Facts) -> tuple[OnFramework, OnFramework] | None:
    """A framework that preallocates the memory, and another one in the same environment."""
    there = [on for on in computing(facts) if on.framework.name != "onnxruntime"]
    for name in ("tensorflow", "jax"):
        for on in there:
            others = [o for o in there if o.python is on.python and o.framework.name != name]
            if on.framework.name == name and others and not _set(facts, name):
                return on, others[0]
    return None


def _set(facts: Facts, name: str) -> bool:
    return any(variable in facts.host.environment for variable in _SETTINGS[name])


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = _greedy(facts)
    if found is None:
        return ()
    setting = _GROWTH[found[0].framework.name]
    message = "If one program, or two on one GPU, use both: let it allocate memory as needed."
    name, _, value = setting.partition("=")
    return (Fix(message, (export(name, value),), "change-environment", undo=(unset(name),)),)


@check(
    title="One framework preallocates the GPU's memory before the other can use it",
    severity=Severity.ADVICE,
    cause="At the first operation TensorFlow preallocates nearly all free memory of each GPU, JAX three quarters, to "
    "manage it themselves. Another framework then runs out of memory: 'CUDA out of memory' on an idle GPU.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth",
        "https://docs.jax.dev/en/latest/gpu_memory_allocation.html",
    ),
    targets=nvidia_hardware,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def memory_taken_at_once(facts: Facts) -> Problem | None:
    """TensorFlow or JAX uses the GPU with another framework in its environment, and nothing limits it."""
    found = _greedy(facts)
    if found is None:
        return None
    one, other = (NAMES[on.framework.name] for on in found)
    share = _SHARE[found[0].framework.name]
    return Problem(f"{one} and {other} share this environment, and {one} preallocates {share} of the GPU's memory.")
