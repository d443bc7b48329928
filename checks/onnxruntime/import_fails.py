"""The import of ONNX Runtime fails."""

from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import starting

import_fails = starting.import_fails(ONNXRUNTIME, __name__, validated_on=("table 2026-11",))
