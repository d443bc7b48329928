"""ONNX Runtime uses no GPU although one is there and no cause is known."""

from gpudoctor.check_engine import Severity
from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import starting
from gpudoctor.queries.onnxruntime import waits_for_program

no_gpu = starting.no_gpu(
    ONNXRUNTIME,
    __name__,
    severity_of=lambda on: Severity.WARNING if waits_for_program(on.framework) else None,
    validated_on=("simulated 2026-11",),
)
