"""TensorFlow is killed by a signal."""

from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import starting

crashes = starting.crashes(TENSORFLOW, __name__, validated_on=("table 2026-11",))
