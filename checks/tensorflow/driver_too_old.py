"""TensorFlow built for a CUDA major that the driver does not run."""

from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import builds
from gpudoctor.queries.tensorflow import severity_of

driver_too_old = builds.driver_too_old(
    TENSORFLOW,
    __name__,
    causes=("tensorflow.several-packages",),
    severity_of=severity_of,
    validated_on=("environment 2026-11",),
)
