"""PyTorch without MPS on a Mac with Apple's GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, torch_family
from gpudoctor.maybe import known
from gpudoctor.queries.apple import mac_torches
from gpudoctor.targets import OnLive
from gpudoctor.tasks import query


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    message = (
        "Install PyPI's PyTorch for Apple silicon, which is built with MPS; there is no build with CUDA for macOS."
    )
    command = install(on.python, *torch_family(on.python), upgrade=True, force=True)
    proof = query(on.python.path, "-c", "import torch; print(torch.backends.mps.is_built())")
    return (Fix(message, (command,), "reinstall-package", verify=proof),)


@check(
    title="PyTorch is built without support for Apple's GPU",
    severity=Severity.ERROR,
    cause="MPS, PyTorch's device for Apple's GPU, is compiled in since 1.12; older releases and some builds from "
    "source or of other channels are without it.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/mps.html",),
    targets=mac_torches,
    caused_by=("apple.rosetta-python", "python.*"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def mps_not_built(on: OnLive) -> Problem | None:
    """It says so itself, on a Mac with Apple's GPU."""
    if on.live.import_error or on.live.died or on.live.hung or known(on.live.mps_built) is not False:
        return None
    if known(on.facts.apple.silicon) is not True:
        return None
    return Problem(f"{on.name} is built without MPS, so it computes on the processor.")
