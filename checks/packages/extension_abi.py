"""Compiled extensions that lack symbols of the installed PyTorch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Extension, Framework
from gpudoctor.fixes.extensions import rebuild
from gpudoctor.knowledge.import_errors import survived
from gpudoctor.maybe import phrase, text_of
from gpudoctor.queries.extensions import COMPANIONS, abi, built_for, is_for_another, lack, pin, strangers, unfit
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import failures, imports_of, torch_symbol_in
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import OnPython, pythons

_ABI = {
    "old": "It was compiled with the old C++ ABI (pre-C++11), the installed PyTorch with the new one.",
    "new": "It was compiled with the new C++ ABI (C++11), the installed PyTorch with the old one.",
}
# PyPI's builds have the old ABI before 2.6, in which it depends on the CUDA release, and all have the new one from 2.7
# on: https://github.com/pytorch/pytorch/issues/149044
_OLD_BEFORE, _NEW_SINCE = (2, 6), (2, 7)

_RUNTIME = (
    "A compiled extension loads the CUDA runtime (libcudart) of the major version that it was compiled with. PyTorch "
    "includes only the one of its own major, so the import fails with 'cannot open shared object file'."
)


def _unfit(on: OnPython) -> tuple[Extension, ...]:
    """Those that lack something, less torchvision and torchaudio, which have a check of their own.

    The loader names what the files do not show: a library may leave it to its package to import PyTorch first.
    """
    # A package that was imported, and says nothing of it, does without that library.
    whole = {
        o.package for o in imports_of(on.python) if o.error is None and not (o.died or survived(o.package, o.stderr))
    }
    found = [e for e in unfit(on.python) if e.package not in (*COMPANIONS, *whole) and not is_for_another(e, on.python)]
    there = {e.package for e in found} | set(COMPANIONS)
    for one, error in failures(on.python):
        if one.package not in there and (symbol := torch_symbol_in(error)):
            found.append(Extension(package=one.package, version=one.version, path=symbol[0], unresolved=symbol[1:]))
    return tuple(found)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    packages = {e.package: e.version for e in _unfit(on)}
    torch = one_of(on.python, "torch")
    return tuple(fix for name, version in packages.items() for fix in rebuild(on, name, version, torch))[:4]


def _abi_cause(first: Extension, torch: Framework | None) -> str | None:
    """That its symbols are another ABI's, where this PyTorch is known to have the other one."""
    here = numbers(text_of(torch.version))[:2] if torch is not None else ()
    other = "old" if here >= _NEW_SINCE else "new" if here and here < _OLD_BEFORE else None
    wanted = abi(first.unresolved)
    return _ABI[wanted] if wanted is not None and wanted == other else None


def _by_tag(on: OnPython, name: str) -> str:
    """The PyTorch and the CUDA of its build, where its version names them."""
    package = next((p for p in packages_of(on.python) if p.name == name), None)
    torch, cuda = built_for(package) if package else (None, None)
    return f" (it was built for torch {torch}{f' with CUDA {cuda}' if cuda else ''})" if torch else ""


@check(
    title="Compiled extension does not match the installed PyTorch",
    severity=Severity.ERROR,
    cause="The extension was compiled against another PyTorch version, whose C++ symbols differ: loading it fails "
    "with 'undefined symbol'. PyTorch was changed after the extension was built, or its wheel is for another version.",
    fixes=_fixes,
    references=(
        "https://github.com/Dao-AILab/flash-attention/issues/1644",
        "https://github.com/vllm-project/vllm/issues/13608",
        "https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html",
    ),
    targets=pythons,
    only_with=("pythons.extensions pythons.imports",),
    caused_by=(
        *("python.*", "libraries.wheel-incomplete", "packages.wrong-vendor", "packages.torchcodec-mismatch"),
        *("pytorch.cpu-build", "pytorch.wrong-vendor"),
    ),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def extension_abi(on: OnPython) -> Problem | None:
    """Symbols in PyTorch's namespaces that none of its libraries defines, or a CUDA runtime that is not there."""
    found = _unfit(on)
    if not found:
        return None
    first, torch = found[0], one_of(on.python, "torch")
    if torch is None:  # then that is what is missing, and not a symbol of it
        return None
    wanted = pin(on.python, first.package)
    built = f" (it was built for torch {wanted})" if wanted else _by_tag(on, first.package)
    unnamed = torch is not None and built and not wanted and "+" not in text_of(torch.version)
    ours = phrase(" for CUDA {}", torch.cuda) if torch and unnamed else ""
    others = sorted({e.package for e in found} - {first.package})
    more = f" The same applies to {', '.join(others)}." if others else ""
    message = (
        f"{first.package} {first.version} does not match "
        f"PyTorch{phrase(' {}', torch.version) if torch else ''}{ours}{built}: {lack(first, torch)}.{more}"
    )
    evidence = [f"{e.path}: undefined symbol: {s}" for e in found for s in e.unresolved[:2]]
    evidence += [f"{e.path}: {n} is not found" for e in found for n in strangers(e)]
    cause = _abi_cause(first, torch) if first.unresolved else _RUNTIME
    packages = tuple({e.package: None for e in found})
    words = (*packages, *(e.path.rpartition("/")[2] for e in found))
    return Problem(message, tuple(evidence[:6]), cause=cause, breaks=packages, words=words)
