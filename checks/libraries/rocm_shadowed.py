"""LD_LIBRARY_PATH makes PyTorch load the system's ROCm of another release instead of its wheel's libraries."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, Need
from gpudoctor.fixes.environment import without_library_path
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.targets import OnFramework, on_wsl, torches

_NAMED = pattern(r"rocm(?:-|/core-)(\d+\.\d+)")


def _taken(framework: Framework) -> list[Need]:
    """ROCm libraries that LD_LIBRARY_PATH overrides in the wheel's own directory."""
    return [
        n for n in known(framework.needs) if n.how == "LD_LIBRARY_PATH" and n.path and n.wheel and n.path != n.wheel
    ]


def _release(on: OnFramework, path: str) -> str | None:
    """The ROCm release of a library: "6.3"; None where its directory does not show it."""
    found, home = _NAMED.search(path), known_or(on.facts.amd.rocm_path, None)
    if found:
        return found[1]
    own = known_or(on.facts.amd.rocm, None)
    return _minor(own) if own and home and path.startswith(f"{home}/") else None


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _severity(framework: Framework, majors_differ: bool) -> Severity:
    """The observed effect; where PyTorch was not imported, another major is likely to do harm."""
    live = framework.live
    if live is None:
        return Severity.WARNING if majors_differ else Severity.ADVICE
    if live.import_error or live.died or live.hung:
        return Severity.ERROR
    return Severity.WARNING if known_or(live.error, None) else Severity.ADVICE


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    directories = {(n.path or "").rpartition("/")[0] for n in _taken(on.framework)}
    proof = framework_proof(on.python, on.framework.name)
    return (without_library_path(on.facts, directories, proof, libraries="ROCm libraries"),)


@check(
    title="LD_LIBRARY_PATH overrides PyTorch's ROCm libraries with another release",
    severity=Severity.ADVICE,
    cause="PyTorch's ROCm wheels include the ROCm libraries. Many releases find them through RUNPATH, which "
    "LD_LIBRARY_PATH overrides, so the system's libraries are loaded instead, or a mix of both: imports fail, "
    "programs crash, or rocBLAS does not find its kernels.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/builder/pull/1468",
        "https://github.com/ROCm/pytorch/issues/1340",
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
    ),
    targets=torches,
    only_with=("pythons.frameworks.hip",),
    caused_by=("python.shadowed-module", "libraries.shadowed-by-path"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def rocm_shadowed(on: OnFramework) -> Problem | None:
    """Libraries of another release win: an ERROR where PyTorch does not even import, ADVICE where it works."""
    wanted = isinstance(on.framework.hip, str) and not on_wsl(
        on.facts
    )  # on WSL the system's libraries give access to the GPU
    taken = _taken(on.framework) if wanted else []
    if not taken:
        return None
    hip = _minor(known(on.framework.hip) or "")
    other = next((r for n in taken if (r := _release(on, n.path or "")) and r != hip), None)
    if other is None:
        return None
    majors = other.partition(".")[0] != hip.partition(".")[0]
    names = ", ".join(n.soname for n in taken[:3]) + (" and others" if len(taken) > 3 else "")
    return Problem(
        f"{on.name} includes ROCm {hip}, but LD_LIBRARY_PATH makes it load {names} from ROCm {other}.",
        phrases(*(phrase("{} shadows {}", n.path, n.wheel) for n in taken[:3])),
        severity=_severity(on.framework, majors),
    )
