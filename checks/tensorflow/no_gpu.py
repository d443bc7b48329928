"""TensorFlow that uses no GPU although one is there and no cause is known."""

from functools import partial

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import tensorflow_verify
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM
from gpudoctor.queries.frameworks import other_works, refusal
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.targets import OnLive, lives


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    message = "Look at the exact messages in a fresh process, outside of notebooks and launchers that set variables."
    return (Fix(message, (tensorflow_verify(on.python),), impact="none"),)


@check(
    title="TensorFlow does not use the GPU",
    severity=Severity.ERROR,
    cause="It is built for this GPU, and its start of CUDA fails; its own words say how.",
    fixes=_fixes,
    references=("https://www.tensorflow.org/install/pip",),
    targets=partial(lives, name="tensorflow"),
    caused_by=(
        *SYSTEM,
        *ENVIRONMENT,
        "health.*",
        "tensorflow.cpu-build",
        "tensorflow.libraries-missing",
        "tensorflow.libraries-not-found",
        "tensorflow.wrong-cuda-major",
        "tensorflow.cudnn-too-old",
        "tensorflow.arch-missing",
        "tensorflow.driver-too-old",
        "tensorflow.placeholder",
        "tensorflow.several-packages",
        "tensorflow.import-fails",
        "tensorflow.crashes",
        "tensorflow.import-hangs",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def no_gpu(on: OnLive) -> Problem | None:
    """A build for CUDA beside an NVIDIA GPU says that none is available."""
    if known(on.framework.variant) != "cuda":
        return None
    found = refusal(on.facts, on.name, on.live, nvidia_gpus(on.facts))
    by_product = found is not None and other_works(on.python, on.framework)
    return msgspec.structs.replace(found, severity=Severity.WARNING) if found and by_product else found
