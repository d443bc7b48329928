"""A variable names a file, a directory or a compiler that does not exist."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, NamedPath
from gpudoctor.fixes.variables import unset
from gpudoctor.knowledge.variables import variables
from gpudoctor.maybe import known
from gpudoctor.targets import gpus_of, machine


def _missing(facts: Facts) -> list[tuple[NamedPath, str]]:
    """What is named and does not exist, with what fails."""
    named = facts.toolkits.named_paths
    if not named:
        return []
    fails = {row.name: row.fails for row in variables().paths.rows}
    return [(one, why) for one in named if (why := fails.get(one.variable)) and known(one.exists) is False]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (unset(facts, *(one.variable for one, _ in _missing(facts)), why="Or set it to one that exists."),)


@check(
    title="An environment variable names a compiler or file that does not exist",
    severity=Severity.WARNING,
    cause="The program or library uses what such a variable names and looks nowhere else. A value from another machine "
    "or operating system, or of a package that was removed, leads nowhere.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#nvcc-environment-variables",
        "https://github.com/triton-lang/triton/blob/main/python/triton/runtime/build.py",
    ),
    targets=machine,
    only_with=("gpus", "toolkits.named_paths"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def path_missing(facts: Facts) -> Problem | None:
    """A variable whose program has no other choice."""
    missing = _missing(facts) if gpus_of(facts) else []
    if not missing:
        return None
    one, fails = missing[0]
    where = "does not exist" if one.path.startswith("/") else "is not on PATH"
    evidence = tuple(f"{each.variable}: {each.path}" for each, _ in missing)
    return Problem(f"{one.variable} names {one.path}, which {where}: {fails}.", evidence)
