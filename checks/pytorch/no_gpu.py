"""PyTorch uses no GPU although one is there and no cause is known."""

from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.families import starting

no_gpu = starting.no_gpu(
    PYTORCH,
    __name__,
    also=("pytorch.driver-too-old", "pytorch.arch-missing", "pytorch.cpu-build", "pytorch.cudnn-mismatch"),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    validated_on=("simulated 2026-11",),
)
