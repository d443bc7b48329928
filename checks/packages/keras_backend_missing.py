"""Keras 3 whose backend is not installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import install_framework, jax_extra, verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.torch_build import torch_choice
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.maybe import known, present
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.packages import package
from gpudoctor.targets import NAMES, OnPython, pythons
from gpudoctor.tasks import Task, export, unset


def _there(on: OnPython) -> list[str]:
    """The backends that are installed, those that use a GPU first."""
    found = [f for f in on.python.frameworks if f.name in python_rules().keras.backends]
    return [f.name for f in sorted(found, key=lambda f: f.variant == "cpu")]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    backend, there = present(on.python.keras_backend), _there(on)
    proof = verify(on.python, "import keras; print(keras.backend.backend())")
    fixes = []
    if there:
        by = on.python.keras_backend_by
        where = f', or set "backend": "{there[0]}" in {by}' if by.startswith("/") else ""
        message = (
            f"Make Keras use {NAMES[there[0]]}, which is installed, here and where your programs are started{where}."
        )
        fixes.append(_set(on, message, there[0], proof))
    message = f"Install the selected backend, {NAMES.get(backend, backend)}.{lasting(on.facts)}"
    fixes.append(Fix(message, (_install(on, backend),), "reinstall-package", verify=proof))
    return tuple(fixes)


def _install(on: OnPython, backend: str) -> Task:
    """The command that installs a backend, for the GPU where there is one."""
    if not (nvidia_gpus(on.facts) or amd_gpus(on.facts)):
        return install(on.python, backend)
    if backend == "torch":
        choice = torch_choice(on.facts, on.python)
        return install(on.python, backend, index=choice.index if choice else None)
    if backend == "tensorflow" and (found := install_framework(on.facts, on.python, backend)):
        return found[0].tasks[0]
    extra = jax_extra(on.facts, None) if backend == "jax" else "and-cuda"
    return install(on.python, f"{backend}[{extra}]")


def _set(on: OnPython, message: str, backend: str, proof: Task) -> Fix:
    old = on.facts.host.environment.get("KERAS_BACKEND")
    undo = export("KERAS_BACKEND", old) if old else unset("KERAS_BACKEND")
    return Fix(message, (export("KERAS_BACKEND", backend),), "change-environment", undo=(undo,), verify=proof)


@check(
    title="Keras's backend is not installed",
    severity=Severity.ERROR,
    cause="Keras 3 runs on TensorFlow, PyTorch or JAX: the one that KERAS_BACKEND names, else the one in "
    "~/.keras/keras.json, which Keras writes on its first import and which outlives the environment, else TensorFlow.",
    fixes=_fixes,
    references=("https://keras.io/getting_started/",),
    targets=pythons,
    only_with=("pythons.packages.name=keras,keras-nightly",),
    caused_by=("python.half-removed", "tensorflow.placeholder"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def keras_backend_missing(on: OnPython) -> Problem | None:
    """The chosen backend is one of the three that can use a GPU, and no distribution or directory of it is there."""
    keras = package(on.python, "keras") or package(on.python, "keras-nightly")
    if keras is None:
        return None
    backend = known(on.python.keras_backend)
    wanted = python_rules().keras.backends.get(backend or "")
    if (
        backend is None
        or wanted is None
        or one_of(on.python, backend)
        or any(package(on.python, name) for name in wanted)
    ):
        return None
    by, others = on.python.keras_backend_by, [NAMES[name] for name in _there(on)]
    why = "the default" if by == "default" else f"set by {by}"
    instead = f" {' and '.join(others)} {'is' if len(others) == 1 else 'are'} installed." if others else ""
    message = f"Keras {keras.version} uses {NAMES[backend]} as its backend ({why}), which is not installed.{instead}"
    # Where nobody chose, Keras may be what was left when TensorFlow was removed, or another package's dependency.
    return Problem(message, severity=None if by == "KERAS_BACKEND" else Severity.WARNING)
