"""ONNX Runtime hangs on import or when it asks for GPUs."""

from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import starting

import_hangs = starting.import_hangs(ONNXRUNTIME, __name__, validated_on=("table 2026-11",))
