"""PyTorch that does not import."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.imports import hinted, torch_again
from gpudoctor.fixes.python import conda_of, from_distribution, manager_of, reinstall_torch
from gpudoctor.queries.frameworks import import_problem
from gpudoctor.targets import OnLive, lives


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    fits = reinstall_torch(on.facts, on.python, on.framework)
    same = torch_again(on) if _is_pips(on) or not fits else ()
    return (*hinted(on), *same, *fits)


def _is_pips(on: OnLive) -> bool:
    """Whether pip or uv installed it from an index of PyTorch's: then the same version can be had again.

    Elsewhere a project's file, conda, the distribution or NVIDIA's index for Jetsons decides.
    """
    python = on.python
    if on.facts.host.platform == "jetson" or manager_of(python) not in ("pip", "uv"):
        return False
    by_conda = any(c.name in ("pytorch", "libtorch") for c in conda_of(python))
    return not (isinstance(python.project, str) or by_conda or from_distribution(python, ("torch",)))


@check(
    title="PyTorch does not import",
    severity=Severity.ERROR,
    cause="One of PyTorch's libraries, or of those that it needs, is missing, damaged or of another version.",
    fixes=_fixes,
    references=("https://pytorch.org/get-started/locally/", "https://github.com/pytorch/pytorch/issues/123097"),
    targets=partial(lives, name="torch"),
    caused_by=(
        "python.*",
        "python.numpy-2",
        "windows.dll-not-loaded",
        "libraries.*",
        "packages.*",
        "pytorch.wrong-vendor",
        "host.*",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """`import torch` raises."""
    return import_problem(on)
