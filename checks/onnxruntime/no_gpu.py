"""ONNX Runtime uses no GPU although one is there and no cause is known."""

from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import starting

no_gpu = starting.no_gpu(ONNXRUNTIME, __name__, validated_on=("simulated 2026-11",))
