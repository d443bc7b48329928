"""TensorFlow hangs on import or when it asks for GPUs."""

from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import starting

import_hangs = starting.import_hangs(TENSORFLOW, __name__, validated_on=("table 2026-11",))
