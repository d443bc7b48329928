"""ROCm's HIP runtime without AMD's code object manager."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge.rocm import comgr_package
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.frameworks import rocm_computes
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import as_root, filtered, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    soname = known(facts.amd.hip_lacks)[0]
    family, own = system.family_of(facts), text_of(facts.amd.rocm_path) == "/usr"
    name = comgr_package(family, soname, distribution=own) if family else None
    proof = filtered(query("ldconfig", "-p"), query("grep", "libamd_comgr"))
    if name is None:
        return (Fix(f"Install the package of ROCm that contains {soname} (comgr).", root=True, verify=proof),)
    message = f"Install {name}, which contains {soname}, and restart the programs that use the GPU.{lasting(facts)}"
    tasks = (*install_system(facts, name), as_root("ldconfig"))
    return (Fix(message, tasks, "reinstall-package", root=True, verify=proof),)


@check(
    title="HIP runtime cannot load COMGR: libamd_comgr is missing",
    severity=Severity.ERROR,
    cause="HIP prepares the GPU code of each program with COMGR, AMD's code object manager. Without it HIP lists no "
    "GPU ('Failed to load COMGR library', 'no ROCm-capable device is detected'), and Ollama or llama.cpp compute on "
    "the CPU, while rocminfo lists the GPU.",
    fixes=_fixes,
    references=(
        "https://github.com/CachyOS/distribution/issues/517",
        "https://github.com/ROCm/legacy-rocm-build/issues/845",
    ),
    targets=amd_compute,
    caused_by=("rocm.half-installed", "rocm.repository-of-another-release"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def comgr_missing(facts: Facts) -> Problem | None:
    """The runtime names COMGR, and no directory of the loader has it; a warning where a wheel's own works."""
    hip = known(facts.amd.hip)
    if hip is None or not (lacks := known(facts.amd.hip_lacks)):
        return None
    message = f"{hip} needs {lacks[0]}, which is neither next to it nor where the loader looks."
    return Problem(message, severity=Severity.WARNING if rocm_computes(facts) else None)
