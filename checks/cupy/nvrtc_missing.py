"""CuPy without CUDA's run-time compiler."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import cupy_package, cupy_verify, reinstall_cupy
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.toolkit import toolkit
from gpudoctor.knowledge import cupy
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import present
from gpudoctor.queries.cupy import nvrtc, on_nvidia
from gpudoctor.queries.libraries import other_majors
from gpudoctor.queries.packages import package, wanted_by
from gpudoctor.targets import OnFramework, cupys

_OPENER = "cuda-bindings"  # by cuda-pathfinder, which searches the nvidia-* wheels


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    name = present(on.framework.distribution)
    row = cupy.package(name)
    if row and row.last and version(row.last) < version(cupy.cupy().rules.ctk_since):
        # Its last release came before the extra: another package, or, where the driver runs no newer CUDA, the toolkit.
        newer = cupy_package(on.facts, on.python) not in (None, name)
        return reinstall_cupy(on.facts, on.python, name) if newer else (toolkit(on.facts, on.python, row.cuda[1]),)
    spec = f"{name}[ctk]>={cupy.cupy().rules.ctk_since}"
    message = f"Install CuPy with the CUDA libraries that it needs, by the extra ctk.{lasting(on.facts)}"
    return (Fix(message, (install(on.python, spec),), "reinstall-package", verify=cupy_verify(on.python)),)


def _opener(on: OnFramework) -> Package | None:
    """What opens NVRTC's wheel by its path, where another package brought CuPy and works with both (cuDF, cuML).

    CuPy asks the loader by name, which then finds the library that is open already.
    """
    brought = wanted_by(on.python, {present(on.framework.distribution)}, but={present(on.framework.distribution)})
    return package(on.python, _OPENER) if brought else None


@check(
    title="libnvrtc not found: CuPy cannot compile kernels",
    severity=Severity.ERROR,
    cause="CuPy compiles nearly every kernel at run time with NVRTC, which its package does not contain; before "
    "release 14 it did not search the nvidia-* wheels that PyTorch installs.",
    fixes=_fixes,
    references=("https://docs.cupy.dev/en/stable/install.html",),
    targets=cupys,
    caused_by=("python.*", "cupy.several-packages", "cupy.wrong-cuda-major", "libraries.*"),
    affects=("wheels",),
    bearable=True,  # as a warning: what brought CuPy computes without it
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def nvrtc_missing(on: OnFramework) -> Problem | None:
    """The loader finds no libnvrtc of CuPy's CUDA major, and none of another."""
    if not on_nvidia(on):
        return None
    need = nvrtc(on)
    if need is None or need.path is not None or other_majors(on.facts, on.python, (need,)):
        return None
    hint = f"; the copy in {need.wheel} is not searched for" if need.wheel else ""
    opener = _opener(on) if need.wheel else None
    if opener:
        hint += f", and is used only once {opener.name} has opened it in the same process"
    live = on.framework.live
    severity = Severity.WARNING if opener else None
    said = (live.nvrtc_error,) if live and live.nvrtc_error else ()
    return Problem(f"{on.name} needs {need.soname}, which is not found{hint}.", said, severity=severity)
