"""The import of PyTorch fails."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.families import starting
from gpudoctor.fixes.imports import hinted, of_the_driver, torch_again
from gpudoctor.fixes.jetson import is_jetson
from gpudoctor.fixes.other_torch import without_backend
from gpudoctor.fixes.python import conda_of, from_distribution, manager_of
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.lazy_regex import pattern
from gpudoctor.targets import OnLive

_BACKEND = pattern(r"Failed to load the backend extension: (\w+)")


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    if backend := _BACKEND.search(on.live.import_error or ""):
        return without_backend(on, backend[1].replace("_", "-"))
    if of_the_driver(on):
        return hinted(on)
    fits = reinstall_torch(on.facts, on.python, on.framework)
    same = torch_again(on) if (_is_pips(on) or not fits) and not on.live.executable_stack else ()
    # A nightly build that lacks something lacks it each time it is installed.
    return (*hinted(on), *fits, *same) if fits and _is_nightly(on) else (*hinted(on), *same, *fits)


def _is_nightly(on: OnLive) -> bool:
    version = on.framework.version
    return isinstance(version, str) and ".dev" in version


def _is_pips(on: OnLive) -> bool:
    """Whether pip or uv installed it from an index of PyTorch's: then the same version can be had again.

    Elsewhere a project's file, conda, the distribution or NVIDIA's index for Jetsons decides.
    """
    python = on.python
    if is_jetson(on.facts) or manager_of(python) not in ("pip", "uv"):
        return False
    by_conda = any(c.name in ("pytorch", "libtorch") for c in conda_of(python))
    return not (isinstance(python.project, str) or by_conda or from_distribution(python, ("torch",)))


import_fails = starting.import_fails(
    PYTORCH,
    __name__,
    fixes=_fixes,
    also=("environment.allocator-settings",),
    references=("https://pytorch.org/get-started/locally/", "https://github.com/pytorch/pytorch/issues/123097"),
    validated_on=("simulated 2026-11",),
)
