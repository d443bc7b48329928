"""CuPy next to NVRTC of a newer CUDA major than its own."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import cupy_verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge import cupy
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import known, present, text_of
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.cupy import nvrtc, on_nvidia
from gpudoctor.queries.driver import driver_cuda, driver_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import major, numbers, package, wanted_by
from gpudoctor.targets import OnFramework, cupys
from gpudoctor.tasks import export, unset

_WHEEL = "nvidia-cuda-nvrtc"  # from CUDA 13 on; that of CUDA 12 is nvidia-cuda-nvrtc-cu12


def _newer(on: OnFramework) -> Package | None:
    """The wheel of a newer CUDA major than CuPy's, which since release 14 looks in wheels."""
    if "libnvrtc.so" in on.facts.host.environment.get("LD_PRELOAD", ""):
        return None
    row = cupy.package(on.framework.distribution or "")
    if (
        row is None
        or not on_nvidia(on)
        or numbers(text_of(on.framework.version)) < numbers(cupy.cupy().rules.ctk_since)
    ):
        return None
    found = package(on.python, _WHEEL)
    return found if found and (major(found.version) or 0) > row.major else None


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    own, verify = nvrtc(on), cupy_verify(on.python)
    if wanted_by(on.python, (_WHEEL,)) is None:
        spec = f"{present(on.framework.distribution)}[ctk]>={cupy.cupy().rules.ctk_since}"
        message = f"Uninstall {_WHEEL}, which nothing here requires: CuPy then loads its own.{lasting(on.facts)}"
        commands = (uninstall(on.python, _WHEEL), install(on.python, spec))
        return (Fix(message, commands, "reinstall-package", verify=verify),)
    if own is None or own.path is None:
        return ()
    message = f"Preload the {own.soname} that CuPy is built for, because another package requires {_WHEEL}."
    undo = (unset("LD_PRELOAD"),)
    return (Fix(message, (export("LD_PRELOAD", own.path),), "change-environment", undo=undo, verify=verify),)


@check(
    title="CuPy loads NVRTC of a newer CUDA than its own",
    severity=Severity.ERROR,
    cause="CuPy compiles nearly every kernel with NVRTC, and since release 14 cuda-pathfinder finds that for it: in "
    "the directory nvidia/cu13 of the wheels before those of CUDA 12. NVRTC of CUDA 13 does not compile for GPUs "
    "before Turing, and drivers for CUDA 12 do not run what it compiles.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/cuda-python/blob/main/cuda_pathfinder/cuda/pathfinder/_dynamic_libs/descriptor_catalog.py",
        "https://github.com/cloudrift-ai/emmy/pull/567",
    ),
    targets=cupys,
    caused_by=("python.*", "cupy.several-packages"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def newer_nvrtc(on: OnFramework) -> Problem | None:
    """The wheel of a newer major is installed, and a visible GPU or the driver cannot use what it compiles."""
    found = _newer(on)
    if found is None:
        return None
    needs = present(major(found.version))
    message = f"{on.name} is for CUDA {present(on.framework.cuda)}, but loads NVRTC {found.version} of {_WHEEL}"
    gpus = visible_gpus(on.facts)
    for gpu in gpus:
        last = toolkits_of(gpu.capability) if isinstance(gpu.capability, str) else None
        if last and last[1] and present(major(last[1])) < needs:
            return Problem(f"{message}, which compiles nothing for {gpu_words(gpu)}.")
    cuda = known(driver_cuda(on.facts))
    if gpus and cuda and present(major(cuda)) < needs:
        return Problem(f"{message}; the {driver_words(on.facts)} runs no CUDA {needs}.", severity=Severity.WARNING)
    for gpu in gpus:
        known(gpu.capability)
    return None
