"""ONNX Runtime is killed by a signal."""

from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import starting

crashes = starting.crashes(ONNXRUNTIME, __name__, validated_on=("table 2026-11",))
