"""TORCH_CUDA_ARCH_LIST does not include this machine's GPU."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.knowledge.kernels import coverage
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, present
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, torches

VARIABLE = "TORCH_CUDA_ARCH_LIST"
# Names that PyTorch translates to numbers (torch/utils/cpp_extension.py).
_NAMES = {
    "Kepler+Tesla": "3.7",
    "Kepler": "3.5+PTX",
    "Maxwell+Tegra": "5.3",
    "Maxwell": "5.0 5.2+PTX",
    "Pascal": "6.0 6.1+PTX",
    "Volta+Tegra": "7.2",
    "Volta": "7.0+PTX",
    "Turing": "7.5+PTX",
    "Ampere+Tegra": "8.7",
    "Ampere": "8.0 8.6+PTX",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell+Tegra": "11.0",
    "Blackwell": "10.0 10.3 12.0 12.1+PTX",
}
_ENTRY = pattern(r"(\d+\.\d)[af]?(\+PTX)?")


def _targets(text: str) -> list[str] | None:
    """Capabilities, with "+PTX" where PTX is generated as well; None where an entry is not known here."""
    entries = " ".join(_NAMES.get(entry, entry) for entry in re.split(r"[;,\s]+", text.strip())).split()
    found = [_ENTRY.fullmatch(entry) for entry in entries]
    if not found or not all(found):
        return None
    # "9.0+PTX" generates machine code for 9.0 as well.
    return [part for m in found if m for part in ([m[1], f"{m[1]}+PTX"] if m[2] else [m[1]])]


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    own = sorted({present(g.capability) for g in visible_gpus(on.facts)})
    message = "List this machine's GPUs, and rebuild the extension."
    without = "PyTorch then compiles for the GPUs that it finds."
    return unset(on.facts, VARIABLE, why=without), assign(VARIABLE, ";".join(own), message)


@check(
    title="TORCH_CUDA_ARCH_LIST does not include this machine's GPU",
    severity=Severity.ADVICE,
    cause="The variable sets the compute capabilities that PyTorch extensions are compiled for. An extension built "
    'with it has no code for this GPU, and fails with "no kernel image is available". Packages that are already '
    "installed are not affected.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/cpp_extension.html",),
    targets=torches,
    only_with=(f"host.environment={VARIABLE}",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def arch_list_without_gpu(on: OnFramework) -> Problem | None:
    """No entry of the list covers a visible GPU."""
    text = on.facts.host.environment.get(VARIABLE)
    if not text or known(on.framework.cuda) is None:
        return None
    targets = _targets(text)
    if targets is None:
        return None
    missing = [
        g for g in visible_gpus(on.facts) if (own := known(g.capability)) and coverage(" ".join(targets), own) is None
    ]
    if not missing:
        return None
    return Problem(f"{VARIABLE} is {text!r}: extensions built here have no code for {gpu_words(missing[0])}.")
