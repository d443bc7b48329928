"""PyTorch refuses the cuDNN that it loads."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install
from gpudoctor.fixes.torch_build import reinstall_torch, torch_verify
from gpudoctor.queries.frameworks import first_line
from gpudoctor.queries.packages import wheels
from gpudoctor.targets import OnLive, lives

# cuDNN 9.11 dropped the GPUs before Turing, and PyTorch says so itself (pytorch/pytorch#162574).
_TOO_OLD = "devices with SM"
_DROPPED = "From 9.11 on cuDNN has no code for GPUs before Turing (compute capability 7.5)."


def _is_gpu_too_old(on: OnLive) -> bool:
    return _TOO_OLD in (on.live.cudnn_error or "")


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    cudnn = next(iter(wheels(on.python, "cudnn")), None)
    if _is_gpu_too_old(on) and cudnn is not None:
        command = install(on.python, f"{cudnn.name}<9.11")
        message = "Install the last cuDNN with code for this GPU; pip warns that PyTorch pins another version."
        return (Fix(message, (command,), "reinstall-package", verify=torch_verify(on.python)),)
    if cudnn is None or not isinstance(on.framework.cudnn, str):
        return reinstall_torch(on.facts, on.python, on.framework)
    command = install(on.python, f"{cudnn.name}=={on.framework.cudnn}", force=True)
    message = "Install the cuDNN version that this PyTorch was built with."
    return (Fix(message, (command,), "reinstall-package", verify=torch_verify(on.python)),)


@check(
    title="PyTorch refuses the cuDNN that it loads",
    severity=Severity.ERROR,
    cause="PyTorch requires the cuDNN major version that it was built with, and the same or a newer minor version; "
    "another copy is found first.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/blob/main/torch/backends/cudnn/__init__.py",
        "https://github.com/facebookresearch/audiocraft/issues/186",
        "https://github.com/pytorch/pytorch/issues/162574",
    ),
    targets=partial(lives, name="torch"),
    caused_by=("libraries.*", "python.*", "pytorch.arch-missing"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def cudnn_mismatch(on: OnLive) -> Problem | None:
    """torch.backends.cudnn.version() raises."""
    if not on.live.cudnn_error:
        return None
    message = f"{on.name} refuses cuDNN: {first_line(on.live.cudnn_error)}"
    cause = _DROPPED if _is_gpu_too_old(on) else None
    return Problem(message, (on.live.cudnn_error[:1500],), cause=cause)
