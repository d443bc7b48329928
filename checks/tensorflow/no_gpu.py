"""TensorFlow uses no GPU although one is there and no cause is known."""

from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import starting
from gpudoctor.queries.tensorflow import severity_of

no_gpu = starting.no_gpu(
    TENSORFLOW,
    __name__,
    also=("tensorflow.driver-too-old",),
    severity_of=severity_of,
    validated_on=("simulated 2026-11",),
)
