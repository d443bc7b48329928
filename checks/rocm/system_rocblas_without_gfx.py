"""The system's rocBLAS has no kernels for the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.rocblas import kernels
from gpudoctor.maybe import known, known_or, phrase, text_of
from gpudoctor.queries.gfx import bare, blas_gpus, covers, effective
from gpudoctor.queries.packages import packages_of
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import OnGpu, gpu_name

_PATH = "ROCBLAS_TENSILE_LIBPATH"  # where rocBLAS looks instead
_WHEEL = "rocm-sdk-libraries"  # ROCm's libraries as wheels, which builds of PyTorch require


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    return kernels(on.facts, bare(text_of(on.gpu.gfx)), known_or(on.facts.amd.blas, ()))


def _uses(facts: Facts, target: str) -> set[str]:
    """What the programs here compute with: "system", the system's rocBLAS, or "own", one that they bring."""
    found = set()
    for python in facts.pythons:
        wheels = any(package.name.startswith(_WHEEL) for package in packages_of(python))
        for framework in python.frameworks:
            if isinstance(framework.hip, str) or framework.variant == "rocm":
                own = wheels or python.kind == "conda" or (framework.name == "torch" and framework.blas != ())
                found.add("own" if own else "system")
    for backend in known_or(facts.llama_cpp.backends, ()):
        if backend.kind == "hip" and backend.blas:
            found.add("own" if covers(backend.blas, target) else "system")
    if "hip" in known_or(facts.ollama.backends, ()):  # ollama.gfx-without-kernels judges what it uses
        found.add("own")
    return found


def _severity(on: OnGpu, target: str, there: tuple[str, ...]) -> Severity | None:
    """ADVICE where another card has kernels, or all that is here brings a rocBLAS of its own."""
    others = [gpu for gpu in visible_amd(on.facts) if gpu != on.gpu and gpu.integrated is not True]
    if any(covers(there, effective(on.facts, gpu) or "") for gpu in others):
        return Severity.ADVICE
    return Severity.ADVICE if _uses(on.facts, target) == {"own"} else None


@check(
    title="The rocBLAS of the installed ROCm has no kernels for this AMD GPU",
    severity=Severity.WARNING,
    cause="rocBLAS loads its kernels from files, one set for each gfx target (TensileLibrary_lazy_gfx1100.dat). The "
    "packages have those of some targets, and a newer release drops older ones (gfx906 in 6.4). The GPU is listed and "
    "simple kernels run, but the first matrix multiplication of a program that uses this rocBLAS aborts: 'rocBLAS "
    "error: Cannot read TensileLibrary.dat: No such file or directory for GPU arch'.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/4625",
        "https://github.com/ROCm/legacy-rocm-build/issues/3015",
        "https://rocm.docs.amd.com/projects/rocBLAS/en/develop/install/install.html",
    ),
    targets=blas_gpus,
    only_with=("amd.blas",),
    caused_by=("rocm.override-of-another-isa", "rocm.not-loaded"),
    affects=("tools",),
    bearable=True,
    validated_on=("simulated 2026-11",),
)
def system_rocblas_without_gfx(on: OnGpu) -> Problem | None:
    """No file of a rocBLAS of the system names the target for which ROCr looks for kernels."""
    if _PATH in on.facts.host.environment:
        return None
    there = known(on.facts.amd.blas)
    known(on.gpu.gfx)
    target = effective(on.facts, on.gpu)
    if not there or target is None or covers(there, bare(target)):
        return None
    names = " ".join(bare(one) for one in there)
    release = phrase(" of ROCm {}", on.facts.amd.rocm)
    message = (
        f"The rocBLAS{release} on this system has no kernels for {target}, which {gpu_name(on.gpu)} is, only for "
        f"{names}: programs that use it abort at the first matrix multiplication."
    )
    path = phrase("{}: no file for this target", on.facts.amd.blas_path)
    return Problem(message, (path,), severity=_severity(on, target, there))
