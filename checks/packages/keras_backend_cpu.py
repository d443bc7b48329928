"""Keras 3 on a backend without GPU support, although one with GPU support is installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework
from gpudoctor.fixes.frameworks import verify
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnPython, framework_name, gpu_name, pythons
from gpudoctor.tasks import export, unset


def _better(on: OnPython) -> Framework | None:
    """Another backend that is built for GPUs."""
    return next((f for f in on.python.frameworks if f.name in python_rules().keras.backends and uses_gpu(f)), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    better = _better(on)
    if better is None:
        return ()
    by = on.python.keras_backend_by
    where = f' (or set "backend": "{better.name}" in {by})' if by.startswith("/") else ""
    message = f"Make Keras use {framework_name(better)}, here and where your programs are started{where}."
    proof = verify(on.python, "import keras; print(keras.backend.backend())")
    command = export("KERAS_BACKEND", better.name)
    return (Fix(message, (command,), "change-environment", undo=(unset("KERAS_BACKEND"),), verify=proof),)


@check(
    title="Keras runs on the CPU: its backend has no GPU support",
    severity=Severity.ADVICE,
    cause="Keras 3 uses the backend that KERAS_BACKEND or keras.json names, else TensorFlow, regardless of which "
    "installed backend can use the GPU.",
    fixes=_fixes,
    references=("https://keras.io/getting_started/",),
    targets=pythons,
    only_with=("pythons.packages.name=keras,keras-nightly",),
    caused_by=("tensorflow.cpu-build", "jax.cpu-only", "pytorch.cpu-build"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def keras_backend_cpu(on: OnPython) -> Problem | None:
    """The chosen backend is a CPU build, and another installed one is not."""
    if not (package(on.python, "keras") or package(on.python, "keras-nightly")):
        return None
    backend = known(on.python.keras_backend)
    chosen, better = one_of(on.python, backend or ""), _better(on)
    gpus = (*nvidia_gpus(on.facts), *amd_gpus(on.facts))
    if chosen is None or better is None or not gpus or known(chosen.variant) != "cpu":
        return None
    # tensorflow-cpu is installed on purpose, and depends on Keras.
    if text_of(chosen.distribution).endswith("-cpu") and on.python.keras_backend_by != "KERAS_BACKEND":
        return None
    message = f"Keras uses {framework_name(chosen)}, which is a CPU build, so {gpu_name(gpus[0])} is not used; "
    return Problem(f"{message}{framework_name(better)} is also installed and built for the GPU.")
