"""PyTorch."""

from gpudoctor.check_engine import Fix
from gpudoctor.families import FrameworkFamily
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    return reinstall_torch(on.facts, on.python, on.framework, next(iter(visible_gpus(on.facts)), None), keep=True)


PYTORCH = FrameworkFamily(
    "torch",
    "https://pytorch.org/get-started/locally/",
    _fitting,
    libraries=("pytorch.wrong-vendor",),
    lists_by_driver=True,
)
