"""Packages that require exactly another PyTorch."""

from gpudoctor.facts import Unmet
from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.remedies.extensions import rebuild
from gpudoctor.subjects import OnPython, pythons
from gpudoctor.views.frameworks import one_of


def _unmet(on: OnPython) -> list[Unmet]:
    pins = (u for u in on.python.unmet if u.requires.replace(" ", "").startswith("torch==") and u.found is not None)
    return [u for u in pins if is_extension(u.package) and u.package not in ("torchvision", "torchaudio")]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    first = _unmet(on)[0]
    return rebuild(on, first.package, first.version, one_of(on.python, "torch"))


@check(
    title="A package was built for another PyTorch than the installed one",
    severity=Severity.WARNING,
    cause="It requires one exact release of PyTorch, as its compiled code fits no other, and another is installed.",
    fixes=_fixes,
    references=("https://github.com/vllm-project/vllm/issues/13608",),
    each=pythons,
    because=("python.*", "packages.extension-abi", "packages.torchvision-mismatch", "pytorch.cpu-build"),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def built_for_another_torch(on: OnPython) -> Problem | None:
    """Its requirement torch==X does not hold."""
    found = _unmet(on)
    if not found:
        return None
    first = found[0]
    more = f" ({len(found) - 1} more packages)" if len(found) > 1 else ""
    says = f"{first.package} {first.version} requires {first.requires}; installed is torch {first.found}{more}."
    return Problem(says, tuple(f"{u.package} {u.version} requires {u.requires}" for u in found[:5]))
