"""Compiled extensions that lack symbols of the installed PyTorch."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.remedies.extensions import rebuild
from gpudoctor.subjects import OnPython, pythons
from gpudoctor.views.extensions import abi, pin, unfit
from gpudoctor.views.frameworks import one_of

_ABI = {
    "old": "It was compiled with the old C++ ABI (pre-C++11), the installed PyTorch with the new one.",
    "new": "It was compiled with the new C++ ABI (C++11), the installed PyTorch with the old one.",
}


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    packages = {e.package: e.version for e in unfit(on.python)}
    torch = one_of(on.python, "torch")
    return tuple(fix for name, version in packages.items() for fix in rebuild(on, name, version, torch))[:4]


@check(
    title="A compiled extension does not fit the installed PyTorch",
    severity=Severity.ERROR,
    cause="The extension was compiled against another version of PyTorch, whose C++ functions have other names: "
    "loading it ends in 'undefined symbol'. PyTorch was changed under it, or its wheel is for another one.",
    fixes=_fixes,
    references=(
        "https://github.com/Dao-AILab/flash-attention/issues/1644",
        "https://github.com/vllm-project/vllm/issues/13608",
        "https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html",
    ),
    each=pythons,
    because=("python.*", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def extension_abi(on: OnPython) -> Problem | None:
    """Symbols in PyTorch's namespaces that none of its libraries defines, or a CUDA run time that is not there."""
    found = unfit(on.python)
    if not found:
        return None
    first, torch = found[0], one_of(on.python, "torch")
    wanted = pin(on.python, first.package)
    built = f", it was built for torch {wanted}" if wanted else ""
    others = sorted({e.package for e in found} - {first.package})
    more = f" The same holds for {', '.join(others)}." if others else ""
    lack = f"undefined symbol {first.unresolved[0]}" if first.unresolved else f"it needs {first.missing[0]}"
    says = (
        f"{first.package} {first.version} does not fit PyTorch {torch.version if torch else ''}{built}: {lack} in "
        f"{first.path.rpartition('/')[2]}.{more}"
    )
    evidence = [f"{e.path}: undefined symbol: {s}" for e in found for s in e.unresolved[:2]]
    evidence += [f"{e.path}: {n} is not found" for e in found for n in e.missing]
    return Problem(says, tuple(evidence[:6]), cause=_ABI.get(abi(first.unresolved) or ""))
