"""Requirements between packages that matter for GPUs and do not hold."""

from gpudoctor.facts import Unmet
from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.remedies.python import install
from gpudoctor.subjects import OnPython, pythons


def _left(on: OnPython) -> list[Unmet]:
    """Those that no other check tells of: NVIDIA's wheels, Triton, extensions of torch, and JAX's parts have theirs."""
    return [u for u in on.python.unmet if not _told_elsewhere(u)]


def _told_elsewhere(unmet: Unmet) -> bool:
    wants = unmet.requires
    name = wants.partition("=")[0].partition("<")[0].partition(">")[0].partition("!")[0].partition("~")[0].strip()
    about_torch = name == "torch" and (is_extension(unmet.package) or unmet.package == "vllm")
    return name.startswith(("nvidia-", "jax")) or about_torch or name in ("numpy", "triton")


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    specs = [u.requires.replace(" ", "") for u in _left(on)]
    says = "Install what is asked for; where two packages ask for different versions, give each its own environment."
    return (Fix(says, (install(on.python, *specs),), "reinstall-package"),)


@check(
    title="Packages ask for versions that are not installed",
    severity=Severity.ADVICE,
    cause="pip installs packages one after the other and lets a later one change what an earlier one had pinned.",
    fixes=_fixes,
    references=("https://pip.pypa.io/en/stable/cli/pip_check/",),
    each=pythons,
    because=(
        "python.*",
        "libraries.*",
        "packages.built-for-another-torch",
        "packages.extension-abi",
        "packages.torchvision-mismatch",
    ),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def unmet_requirement(on: OnPython) -> Problem | None:
    """What `pip check` says of packages that matter, and no other check tells."""
    left = _left(on)
    if not left:
        return None
    lines = tuple(f"{u.package} {u.version} requires {u.requires}, found: {u.found or 'nothing'}" for u in left)
    more = f" ({len(left) - 1} more)" if len(left) > 1 else ""
    return Problem(f"{lines[0]}{more}.", lines[:6])
