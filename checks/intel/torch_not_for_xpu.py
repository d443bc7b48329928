"""PyTorch for other GPUs, or for none, where Intel's is the only one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.fixes.python import has
from gpudoctor.maybe import known
from gpudoctor.queries.intel import alone, card_name, plain_torches
from gpudoctor.targets import OnFramework


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return (intel.xpu_build(on.python),)


@check(
    title="PyTorch is not built for the Intel GPU of this machine",
    severity=Severity.ADVICE,
    cause="PyPI's PyTorch is built for CUDA on Linux and for the CPU on Windows. Its builds for Intel's GPUs (XPU) are "
    "on an index of their own.",
    fixes=_fixes,
    references=(intel.START, "https://github.com/pytorch/pytorch/issues/150260"),
    targets=plain_torches,
    caused_by=("python.*", "intel.not-driven", "intel.firmware-missing"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def torch_not_for_xpu(on: OnFramework) -> Problem | None:
    """A build for CUDA or the CPU; with Level Zero installed, somebody wants to compute on the GPU."""
    variant = known(on.framework.variant)
    if variant not in ("cpu", "cuda") or has(on.python, "intel-extension-for-pytorch"):
        return None
    card = alone(on.facts)[0]
    build = "for CUDA" if variant == "cuda" else "for the CPU alone"
    wanted = on.facts.host.system == "Linux" and isinstance(on.facts.intel.level_zero, str)
    message = f"{on.name} is built {build}, so it cannot use {card_name(card)[0].lower()}{card_name(card)[1:]}."
    return Problem(message, severity=Severity.WARNING if wanted else None)
