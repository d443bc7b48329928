"""PyTorch for other GPUs or the CPU, where the only GPU is Intel's."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.fixes.python import has
from gpudoctor.maybe import known
from gpudoctor.queries.intel import alone, card_name, discrete, plain_torches
from gpudoctor.targets import OnFramework, in_container


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return (intel.xpu_build(on.python),)


@check(
    title="PyTorch is not an XPU build: it cannot use the Intel GPU",
    severity=Severity.ADVICE,
    cause="PyPI's PyTorch is built for CUDA on Linux and for the CPU on Windows. The builds for Intel GPUs (XPU) are "
    "on a separate index.",
    fixes=_fixes,
    references=(intel.START, "https://github.com/pytorch/pytorch/issues/150260"),
    targets=plain_torches,
    caused_by=("python.*", "intel.not-driven", "intel.firmware-missing"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def torch_not_for_xpu(on: OnFramework) -> Problem | None:
    """A build for CUDA or the CPU; with Level Zero installed, or a card passed in, the GPU is meant for compute."""
    variant = known(on.framework.variant)
    if variant not in ("cpu", "cuda") or has(on.python, "intel-extension-for-pytorch"):
        return None
    card = alone(on.facts)[0]
    build = "for CUDA" if variant == "cuda" else "for the CPU only"
    passed = in_container(on.facts) and bool(discrete(on.facts))
    wanted = on.facts.host.system == "Linux" and (passed or isinstance(on.facts.intel.level_zero, str))
    message = f"{on.name} is built {build}, so it cannot use {card_name(card)[0].lower()}{card_name(card)[1:]}."
    return Problem(message, severity=Severity.WARNING if wanted else None)
