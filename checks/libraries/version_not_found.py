"""A library in an older release than something compiled needs: "version `GLIBCXX_3.4.30' not found"."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.loading import newer_copy
from gpudoctor.queries.loading import OldCopy, import_of, know_all, old_copies
from gpudoctor.targets import OnPython, pythons

_GLIBC = (
    "It was compiled on a distribution with a newer C library (glibc) than this one. A process has one glibc, that of "
    "the distribution or of the container image, and no package can bring another."
)
_CXX = (
    "It was compiled with a newer GCC than the libstdc++.so.6 is of that is loaded here. A process loads one copy: in "
    "a conda environment that of the environment, elsewhere the distribution's or the one on LD_LIBRARY_PATH."
)
_UNLINKED = "The conda environment has {}, but not the link {} to it, so that the loader takes the system's older copy."
_OTHER = (
    "Each library names the symbol versions that it needs. The loader takes the first copy that it finds, "
    "LD_LIBRARY_PATH before most others, and stops if that copy is older and does not define them."
)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    return newer_copy(on, old_copies(on.facts, on.python)[0])


def _cause(first: OldCopy) -> str:
    return _GLIBC if first.version.startswith("GLIBC_") else _CXX if "libstdc++" in first.path else _OTHER


@check(
    title="A library is older than compiled code needs: version not found",
    severity=Severity.ERROR,
    cause=_OTHER,
    fixes=_fixes,
    references=(
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
        "https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html",
        "https://github.com/Dao-AILab/flash-attention/issues/2225",
        "https://github.com/kvcache-ai/ktransformers/issues/524",
        "https://github.com/pytorch/pytorch/issues/147226",
    ),
    targets=pythons,
    only_with=(
        "pythons.extensions pythons.imports pythons.frameworks.live.import_error pythons.frameworks.live.stderr",
    ),
    caused_by=("python.*", "libraries.shadowed-by-path"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def version_not_found(on: OnPython) -> Problem | None:
    """The loader's own words in a failed import or start, or a version of glibc that a file needs and is not here."""
    found = old_copies(on.facts, on.python)
    if not found:
        know_all(on.python)
        return None
    first = found[0]
    name = first.path.rpartition("/")[2]
    newest = f" (it has {first.newest} at most)" if first.newest else ""
    where = " from LD_LIBRARY_PATH" if _is_on_path(on, first) else ""
    other = _other_package(on, first)
    needs = f"{other}, which {first.who} imports, needs" if other else f"{first.who} needs"
    needs += f" {first.version}"
    if first.opened:
        library = first.needed_by.rpartition("/")[2]
        needs = f"{first.who} finds no GPU: {library}, which it opens, needs {first.version}"
    message = f"{needs}, which {name} here does not define: {first.path}{where}{newest}."
    if name.startswith("libstdc++") and on.python.unlinked_libstdcxx:
        message += f" {_UNLINKED.format(on.python.unlinked_libstdcxx[-1], name)}"
    evidence = [one.error or f"{one.needed_by} needs {one.version}; {one.path}: {one.newest}" for one in found]
    return Problem(message, tuple(evidence[:4]), cause=_cause(first))


def _other_package(on: OnPython, one: OldCopy) -> str | None:
    """The package of the file that needs it, where the failed import was that of another one."""
    imported = import_of(on.python, one.who.rpartition(" ")[0])
    folder = one.needed_by.rpartition("/site-packages/")[2]
    if imported is None or folder == one.needed_by or "/" not in folder:
        return None
    package = folder.partition("/")[0]
    return None if package == imported.module.partition(".")[0] else package


def _is_on_path(on: OnPython, one: OldCopy) -> bool:
    folders = on.facts.host.environment.get("LD_LIBRARY_PATH", "").split(":")
    return one.path.rpartition("/")[0] in {folder.rstrip("/") for folder in folders}
