"""float32 is computed with TF32 although TF32 is disabled."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, unset
from gpudoctor.maybe import phrase
from gpudoctor.queries.smoke import OnTests, dtype_of, sentence, smoke_tests
from gpudoctor.queries.smoke.errors import kinds, wrong
from gpudoctor.queries.smoke.training import OVERRIDE, is_tf32
from gpudoctor.tasks import Task, Variable, code

_SWITCHES: dict[str, Task] = {
    "pytorch": code("torch.backends.cuda.matmul.allow_tf32 = False; torch.backends.cudnn.allow_tf32 = False"),
    "tensorflow": code("tf.config.experimental.enable_tensor_float_32_execution(False)"),
    "jax": code('jax.config.update("jax_default_matmul_precision", "highest")'),
    "cupy": Variable("CUPY_TF32"),
}


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "matmul", "mnist")
    if on.facts.host.environment.get(OVERRIDE, "0") != "0":
        why = "it makes NVIDIA's libraries use TF32, whatever the program sets"
        return (unset(on.facts, OVERRIDE, why, verify),)
    message = (
        "Disable TF32 in the program, and find out what enables it behind its back: a sitecustomize file, a wrapper "
        "around the libraries."
    )
    command = _SWITCHES.get(on.run.backend)
    return (Fix(message, (command,) if command else (), "change-environment", verify=verify),)


def _text(on: OnTests, test: SmokeTest) -> str | None:
    if test.name == "mnist" and is_tf32(on, test):
        return phrase("gradients of the training step are off by {:.1e}", test.figure("gradient error")) or None
    if test.name == "matmul" and "tf32" in kinds(test) and wrong(test) is None:  # TF32 puts all rows off alike
        return f"matmul in {dtype_of(test)} is off by {test.figure('error') or 0:.1e}"
    return None


@check(
    title="TF32 is used although it is disabled",
    severity=Severity.WARNING,
    cause="The test disabled TF32, but the error is that of a 10-bit mantissa instead of 23 bits. Most training "
    "tolerates it; solvers, losses near zero and comparisons with other machines do not.",
    fixes=_fixes,
    references=(
        "https://developer.nvidia.com/blog/accelerating-ai-training-with-tf32-tensor-cores/",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices",
        "https://www.tensorflow.org/api_docs/python/tf/config/experimental/enable_tensor_float_32_execution",
    ),
    targets=partial(smoke_tests, name="matmul mnist"),
    caused_by=("smoke.uncorrected-ecc", "smoke.corrupted-memory", "smoke.corrupted-copy", "smoke.wrong-result"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def tf32_in_force(on: OnTests) -> Problem | None:
    """The error of float32 matmuls, and the gradients of a strict float32 step."""
    found = [text for test in on.tests if (text := _text(on, test))]
    if not found:
        return None
    value = on.facts.host.environment.get(OVERRIDE)
    seen = (f"{OVERRIDE}={value}",) if value is not None else ()
    message = f"{on.name} computes float32 with TF32, although TF32 is disabled: {'; '.join(found)}."
    return Problem(sentence(message), seen)
