"""PyTorch without MPS on a Mac with an Apple GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install
from gpudoctor.fixes.torch_build import torch_family
from gpudoctor.maybe import known
from gpudoctor.queries.apple import mac_torches
from gpudoctor.targets import OnLive
from gpudoctor.tasks import query


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    message = "Install PyPI's PyTorch for Apple silicon, which is built with MPS; there is no CUDA build for macOS."
    command = install(on.python, *torch_family(on.python), upgrade=True, force=True)
    proof = query(on.python.path, "-c", "import torch; print(torch.backends.mps.is_built())")
    return (Fix(message, (command,), "reinstall-package", verify=proof),)


@check(
    title="PyTorch is built without MPS (Apple GPU support)",
    severity=Severity.ERROR,
    cause="MPS, PyTorch's device for Apple GPUs, is compiled in since 1.12; older releases and some source builds or "
    "other channels lack it.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/mps.html",),
    targets=mac_torches,
    caused_by=("apple.rosetta-python", "python.*"),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def mps_not_built(on: OnLive) -> Problem | None:
    """PyTorch reports it, on a Mac with an Apple GPU."""
    if on.live.import_error or on.live.died or on.live.hung or known(on.live.mps_built) is not False:
        return None
    if known(on.facts.apple.silicon) is not True:
        return None
    return Problem(f"{on.name} is built without MPS, so it runs on the CPU.")
