"""numba-cuda with an NVVM that is newer than its nvJitLink."""

from typing import Literal

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import conda_install, conda_of, install, lasting, uninstall
from gpudoctor.knowledge.wheels import wheels as table
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.loading import failures
from gpudoctor.queries.packages import major, numbers, package, packages_of, wanted_by, wheels
from gpudoctor.targets import OnPython, pythons

_NVCC_12, _NVVM_13, _NVCC_13 = "nvidia-cuda-nvcc-cu12", "nvidia-nvvm", "nvidia-cuda-nvcc"
_CONDA_NVVM, _CONDA_LINKER = "cuda-nvvm-impl", "libnvjitlink"
# Others' problems with the same nvJitLink, whose fix is a newer one.
_OF_LINKER = ("packages.undeclared-requirement", "libraries.version-not-found")
_PARTS = 2  # of the version, in which a CUDA release differs from another
_PROOF = 'from numba import cuda; cuda.jit("void()")(lambda: None); print("compiled")'


class _Library(msgspec.Struct, frozen=True):
    """A library as numba-cuda finds it."""

    name: str  # of its package, or the toolkit's directory
    version: str
    place: Literal["wheel", "conda", "toolkit"]

    @property
    def release(self) -> tuple[int, ...]:
        return numbers(self.version)[:_PARTS]

    @property
    def text(self) -> str:
        return ".".join(map(str, self.release))


def _of_wheel(on: OnPython, part: str, name: str) -> list[_Library]:
    return [_Library(p.name, p.version, "wheel") for p in wheels(on.python, part) if p.name == name]


def _of_conda(on: OnPython, name: str) -> list[_Library]:
    return [_Library(p.name, p.version, "conda") for p in conda_of(on.python) if p.name == name]


def _nvvm(on: OnPython, numba: str) -> _Library | None:
    """The NVVM that this release of numba-cuda loads; None: it is none whose version is known."""
    rows, conda = table().numba_cuda, _of_conda(on, _CONDA_NVVM)
    old = _of_wheel(on, "cuda-nvcc", _NVCC_12)
    new = _of_wheel(on, "nvvm", _NVVM_13) if numbers(numba) >= numbers(rows.finds_13) else []
    found = (*new, *old, *conda) if numbers(numba) >= numbers(rows.finds_13_first) else (*conda, *old, *new)
    if found:
        return found[0]
    home = on.facts.toolkits.home
    release = known(home.nvcc) if home.found_by in {"CUDA_HOME", "CUDA_PATH"} else None
    return _Library(present(home.path), release, "toolkit") if release else None


def _linker(on: OnPython) -> _Library | None:
    """The nvJitLink that cuda-bindings loads; None: there is none here."""
    by_pip = [*_of_wheel(on, "nvjitlink", "nvidia-nvjitlink"), *_of_wheel(on, "nvjitlink", "nvidia-nvjitlink-cu12")]
    return next(iter((*by_pip, *_of_conda(on, _CONDA_LINKER))), None)


def _found(on: OnPython) -> tuple[_Library, _Library] | None:
    """NVVM and nvJitLink, where the second is older: it does not read what the first writes."""
    numba = package(on.python, "numba-cuda")
    if numba is None or numbers(numba.version) < numbers(table().numba_cuda.links):
        return None
    linker = _linker(on)
    nvvm = _nvvm(on, numba.version) if linker else None
    if nvvm is None or linker is None or min(len(nvvm.release), len(linker.release)) < _PARTS:
        return None
    return (nvvm, linker) if nvvm.release > linker.release else None


def _is_too_new(on: OnPython, nvvm: _Library) -> bool:
    """Whether the driver supports no CUDA of NVVM's major, nor code of a linker of it."""
    driver = major(known_or(driver_cuda(on.facts), None) or "")
    return driver is not None and driver < nvvm.release[0]


def _is_kept(on: OnPython, linker: _Library, nvvm: _Library) -> bool:
    """Whether nvJitLink has to stay: something else is built for it or pins it, or the driver is too old for NVVM's."""
    built = {major(f.cuda) for f in on.python.frameworks if isinstance(f.cuda, str)}
    wanted = wanted_by(on.python, (linker.name,), ("numba-cuda", "cuda-toolkit")) or ("", "")
    mixed = nvvm.release[0] != linker.release[0]
    pinned = bool(wanted[0]) and (mixed or any(sign in wanted[1] for sign in ("==", "<", "~=")))
    return _is_too_new(on, nvvm) or linker.release[0] in built or pinned


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    nvvm, linker = present(_found(on))
    proof = verify(on.python, _PROOF)
    kept = _is_kept(on, linker, nvvm)
    if nvvm.place == "conda" and (kept or linker.place == "conda"):
        release = linker.text if kept else nvvm.text
        command = conda_install(on.python, "cuda-nvvm", "cuda-nvrtc", "libnvjitlink", f"cuda-version={release}")
        message = f"Install NVVM and nvJitLink of one CUDA release, {release}, into this conda environment."
        return (Fix(message, (command,), "reinstall-package", verify=proof),)
    if not kept:
        cuda = nvvm.release[0]
        named = f"nvidia-nvjitlink-cu{cuda}" if cuda == 12 else "nvidia-nvjitlink"
        extra = () if nvvm.place == "conda" else (f"numba-cuda[cu{cuda}]",)
        also = f", with numba-cuda's extra for CUDA {cuda}" if extra else ""
        message = f"Install an nvJitLink that is as new as NVVM{also}.{lasting(on.facts)}"
        command = install(on.python, *extra, f"{named}>={nvvm.text},<{cuda + 1}")
        return (Fix(message, (command,), "reinstall-package", verify=proof),)
    cuda = linker.release[0]
    stray = [p.name for p in packages_of(on.python) if p.name in (_NVVM_13, _NVCC_13)] if cuda == 12 else []
    own = _NVCC_12 if cuda == 12 else _NVVM_13
    why = f"the driver does not support CUDA {nvvm.release[0]}" if _is_too_new(on, nvvm) else "other packages need it"
    message = (
        f"Install NVVM of nvJitLink's release ({linker.text}), which stays ({why}), with numba-cuda's extra for CUDA "
        f"{cuda}.{lasting(on.facts)}"
    )
    commands = (
        *((uninstall(on.python, *stray),) if stray else ()),
        install(on.python, f"numba-cuda[cu{cuda}]", f"{own}=={linker.text}.*"),
    )
    return (Fix(message, commands, "reinstall-package", verify=proof),)


@check(
    title="NVVM of numba-cuda is newer than its nvJitLink: ERROR 4 in nvvmAddNVVMContainerToProgram",
    severity=Severity.ERROR,
    cause="numba-cuda compiles kernels with NVVM to code for link-time optimization (LTO-IR), and nvJitLink links it. "
    "It looks for each of the two by itself, and an nvJitLink does not read what a newer NVVM writes, even of the next "
    "minor release: every kernel fails with 'may need newer version of nvJitLink library'. An NVVM that is older than "
    "nvJitLink is fine.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/nvjitlink/index.html#compatibility",
        "https://github.com/numba/numba/issues/10353",
        "https://nvidia.github.io/numba-cuda/user/installation.html",
    ),
    targets=pythons,
    only_with=("pythons.packages.name=numba-cuda",),
    caused_by=(*CUDA_SYSTEM, "python.*", "packages.part-missing", *_OF_LINKER),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def nvvm_newer_than_linker(on: OnPython) -> Problem | None:
    """Compare the releases of the NVVM and the nvJitLink that numba-cuda finds."""
    numba = package(on.python, "numba-cuda")
    if numba is None or not nvidia_gpus(on.facts):
        return None
    found = _found(on)
    if found is None:
        return None
    nvvm, linker = found
    what = f"the toolkit in {nvvm.name}" if nvvm.place == "toolkit" else f"{nvvm.name} {nvvm.version}"
    mixed = nvvm.release[0] != linker.release[0]
    majors = f" Packages of CUDA {nvvm.release[0]} and {linker.release[0]} are mixed." if mixed else ""
    message = (
        f"numba-cuda {numba.version} compiles kernels with the NVVM of CUDA {nvvm.text} ({what}), and links them with "
        f"an older nvJitLink ({linker.name} {linker.version}), which cannot read them.{majors}"
    )
    # In one major, the pins of PyTorch and the newest nvcc come together by themselves; perhaps no kernel is compiled.
    mild = not mixed or bool(failures(on.python))
    return Problem(message, severity=Severity.WARNING if mild else None)
