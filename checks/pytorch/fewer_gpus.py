"""PyTorch counts fewer GPUs than CUDA."""

from functools import partial

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import SYSTEM
from gpudoctor.targets import OnLive, lives
from gpudoctor.tasks import cmd


@check(
    title="PyTorch sees fewer GPUs than the driver",
    severity=Severity.WARNING,
    cause="Something between the driver and PyTorch hides GPUs: CUDA_VISIBLE_DEVICES set inside Python, a startup "
    "file of the environment (sitecustomize, a .pth file), or a GPU that fails to initialize.",
    fixes=(
        Fix(
            "Find what sets CUDA_VISIBLE_DEVICES inside the process.",
            (cmd("python", "-c", 'import os; print(os.environ.get("CUDA_VISIBLE_DEVICES"))'),),
            impact="none",
        ),
    ),
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars",),
    targets=partial(lives, name="torch"),
    caused_by=(*SYSTEM, "pytorch.no-gpu", "pytorch.unusable-gpu"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def fewer_gpus(on: OnLive) -> str | None:
    """The count is lower than that of libcuda under the same mask."""
    if on.framework.variant != "cuda" or on.live.import_error or known(on.live.available) is not True:
        return None
    devices = on.facts.nvidia.cuda.devices
    shown, counted = len(known(devices)), known(on.live.count)
    return f"{on.name} sees {counted} of the {shown} GPUs that CUDA lists." if counted < shown else None
