"""ONNX Runtime built for a CUDA major that the driver does not run."""

from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import builds

driver_too_old = builds.driver_too_old(
    ONNXRUNTIME,
    __name__,
    causes=("onnxruntime.both-packages",),
    then=", so ONNX Runtime falls back to the CPU",
    validated_on=("simulated 2026-11",),
)
