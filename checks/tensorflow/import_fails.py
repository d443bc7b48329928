"""The import of TensorFlow fails."""

from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import starting

import_fails = starting.import_fails(
    TENSORFLOW, __name__, also=("apple.tensorflow-metal-mismatch",), validated_on=("simulated 2026-11",)
)
