"""ONNX Runtime uses no GPU although one is there and no cause is known."""

from gpudoctor.check_engine import Severity
from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import starting
from gpudoctor.queries.onnxruntime import is_left_to_program, loads_with_torch
from gpudoctor.targets import OnLive


def _severity(on: OnLive) -> Severity | None:
    if loads_with_torch(on):
        return Severity.ADVICE
    return Severity.WARNING if is_left_to_program(on) else None


no_gpu = starting.no_gpu(
    ONNXRUNTIME,
    __name__,
    severity_of=_severity,
    validated_on=("simulated 2026-11",),
)
