"""ROCm's HSA or HIP runtime links to a library that is not there."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge.rocm import rocm
from gpudoctor.knowledge.system_libraries import package_of
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.frameworks import rocm_computes
from gpudoctor.targets import amd_compute, on_wsl
from gpudoctor.tasks import Task, query

_WSL = (
    "AMD's packages for WSL (amdgpu-install --usecase=wsl) contain an HSA runtime that reaches the GPU through "
    "Windows: it links to libdxcore.so, which only WSL has. On native Linux no program of ROCm starts with it."
)


def _missing(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Each missing library with the first one that needs it; COMGR is another check's."""
    found = [(soname, one.path) for one in known(facts.amd.unloadable) for soname in one.lacks]
    return tuple({s: (s, path) for s, path in reversed(found) if not s.startswith("libamd_comgr.")}.values())[::-1]


def _is_for_wsl(facts: Facts) -> bool:
    return not on_wsl(facts) and any(soname == rocm().wsl.library for soname, _ in _missing(facts))


def _native(facts: Facts, proof: Task) -> Fix:
    """One transaction: what depends on the runtime must not be removed with it."""
    pairs = rocm().wsl.packages
    there = {name for name, _, _ in known_or(facts.amd.packages, ())} & set(pairs)
    wrong = [name for name in pairs if name in there] or list(pairs)[:1]
    right = [pairs[name] for name in wrong]
    message = (
        f"Replace {' and '.join(wrong)} by {' and '.join(right)} of AMD's repository for ROCm, and later run "
        "amdgpu-install without the use case wsl."
    )
    commands = system.install(facts, *right, *(f"{name}-" for name in wrong))
    family = system.family_of(facts)
    return Fix(message, commands if family == "debian" else (), "reinstall-package", root=True, verify=proof)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    missing, family = dict(_missing(facts)), system.family_of(facts)
    proof = query("ldd", next(iter(missing.values())))
    if _is_for_wsl(facts):
        return (_native(facts, proof),)
    packages = {name: package_of(name, family) if family else None for name in missing}
    there = tuple(dict.fromkeys(filter(None, packages.values())))
    left = [name for name in missing if not packages[name]]
    message = f"Install {' and '.join(there)}.{lasting(facts)}" if there else ""
    if left:
        message += (
            f"{' Then install' if there else 'Install'} the package that contains {' and '.join(left)}, of the same "
            f"ROCm release as {missing[left[0]]}, or reinstall ROCm."
        )
    commands = install_system(facts, *there) if there else ()
    return (Fix(message, commands, "reinstall-package", root=True, verify=proof),)


@check(
    title="ROCm's runtime cannot be loaded: a library that it needs is missing",
    severity=Severity.ERROR,
    cause="Programs of the installed ROCm load the HSA runtime (libhsa-runtime64) and the HIP runtime (libamdhip64). "
    "If one of these links to a library that the loader does not find, rocminfo, hipcc and all programs of HIP stop "
    "with 'error while loading shared libraries'.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/4053",
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
    ),
    targets=amd_compute,
    only_with=("amd.unloadable",),
    caused_by=("rocm.half-installed", "rocm.repository-of-another-release"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def runtime_unloadable(facts: Facts) -> Problem | None:
    """What the runtimes link to, by their files; a warning where a wheel's own runtime works."""
    missing = _missing(facts)
    if not missing:
        return None
    soname, path = missing[0]
    others = f" (and {len(missing) - 1} more)" if missing[1:] else ""
    message = f"{path} needs {soname}{others}, which is neither next to it nor where the loader looks."
    for_wsl = _is_for_wsl(facts)
    if for_wsl:
        message += " It is the runtime for WSL, and this is native Linux."
    packages = (" ".join(one) for one in known_or(facts.amd.packages, ()) if one[0] in rocm().wsl.packages)
    evidence = (*(f"{path} needs {name}" for name, path in missing), *(packages if for_wsl else ()))
    severity = Severity.WARNING if rocm_computes(facts) else None
    return Problem(message, evidence, _WSL if for_wsl else None, severity)
