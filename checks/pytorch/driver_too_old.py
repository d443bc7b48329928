"""PyTorch built for a CUDA major that the driver does not run."""

from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.families import builds

driver_too_old = builds.driver_too_old(
    PYTORCH,
    __name__,
    causes=("pytorch.arch-missing",),
    references=(builds.MINOR_VERSIONS, "https://github.com/vllm-project/vllm/issues/33992"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
