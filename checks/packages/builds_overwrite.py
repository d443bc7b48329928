"""Two builds of one package in one directory."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import FileOverlap
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.intel import discrete
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import OnPython, pythons


def _overlap(on: OnPython) -> tuple[FileOverlap, list[str]] | None:
    """Builds of one package that claim the same files."""
    for names in python_rules().builds.values():
        for overlap in on.python.overlaps:
            if len(shared := [name for name in overlap.packages if name in names]) > 1:
                return overlap, shared
    return None


def _kept(on: OnPython, names: list[str]) -> str:
    """The GPU build: the one that another package requires, else the one not named for CPUs."""
    asked = {line.partition("=")[0].strip() for p in packages_of(on.python) for line in p.requires}
    rows = sorted(names, key=lambda n: (n not in asked, "cpu" in n, n == "paddlepaddle", "rocm" in n or "xpu" in n))
    versions = {p.name: p.version for p in packages_of(on.python)}
    return f"{rows[0]}=={versions[rows[0]]}" if rows[0] in versions else rows[0]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _overlap(on)
    if found is None:
        return ()
    kept = _kept(on, found[1])
    message = (
        f"Uninstall all of them, then install only {kept.partition('=')[0]}: uninstalling one removes the other's "
        "files."
    )
    commands = (uninstall(on.python, *found[1]), install(on.python, kept, force=True, no_deps=True))
    return (Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package"),)


@check(
    title="Two builds of one package overwrite each other",
    severity=Severity.WARNING,
    cause="The CPU and GPU builds have different names but share a directory: pip keeps both, and the one installed "
    "last overwrites the other's files.",
    fixes=_fixes,
    references=(
        "https://github.com/facebookresearch/faiss/blob/main/INSTALL.md",
        "https://pypi.org/project/paddlepaddle-gpu/",
    ),
    targets=pythons,
    only_with=("pythons.overlaps pythons.packages?",),
    caused_by=("pytorch.wrong-vendor",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def builds_overwrite(on: OnPython) -> Problem | None:
    """The RECORDs of two builds claim the same files, on a machine with a GPU."""
    known(on.python.packages)
    found = _overlap(on)
    if found is None or not (nvidia_gpus(on.facts) or amd_gpus(on.facts) or discrete(on.facts)):
        return None
    overlap, names = found
    versions = {p.name: p.version for p in packages_of(on.python)}
    builds = " and ".join(f"{n} {versions.get(n, '')}".strip() for n in names)
    message = f"{builds} are both installed and share files: one overwrote the other's."
    return Problem(message, tuple(f"both claim {file}" for file in overlap.files[:3]))
