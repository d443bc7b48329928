"""A framework's build against the driver, the GPU and the CUDA libraries: too new, too old, or for another vendor."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from gpudoctor.check_engine import Check, Fix, Problem, Severity, check
from gpudoctor.facts import Gpu, Need
from gpudoctor.families import Fitting, FrameworkFamily
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.python import conda_install, conda_of, install
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge.library_gpus import first_without
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.capability import arch_severity, gpu_words, side, words
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver_floor import behind_framework
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus, visible_gpus
from gpudoctor.queries.libraries import family, needs_of, other_majors
from gpudoctor.queries.packages import major, numbers, wheels
from gpudoctor.targets import ANY_GPU, OnFramework, gpu_name, has_nvidia, has_rocm

SeverityOf = Callable[[OnFramework], Severity | None]
Lines = Callable[[OnFramework], tuple[str, ...]]
MINOR_VERSIONS = "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"


def _none(_: OnFramework) -> tuple[str, ...]:
    return ()


def driver_too_old(
    of: FrameworkFamily,
    module: str,
    *,
    fitting: Fitting | None = None,
    causes: Sequence[str] = (),
    then: str = "",
    severity_of: SeverityOf = lambda _: None,
    **texts: Any,
) -> Check[OnFramework]:
    """The check for a framework that is built for a newer CUDA major than the driver's.

    Args:
        of: the framework.
        module: the module of the check's file.
        fitting: installs a build for the driver's CUDA, where the framework's own way does not.
        causes: ids of its own checks whose problem explains this one.
        then: what follows, with the comma before it.
        severity_of: the severity, where it is not an error.
        texts: further arguments of `check_engine.Check`, as for each function here.
    """

    def fixes(on: OnFramework) -> tuple[Fix, ...]:
        return (*(fitting or of.fitting)(on), *newer_driver(on.facts, present(on.framework.cuda)))

    @check(
        module=module,
        title=f"NVIDIA driver too old for this {of.title} build",
        severity=Severity.ERROR,
        cause="A driver runs CUDA programs of its own major version and of older ones; a build for a newer major "
        "fails with 'CUDA driver version is insufficient for CUDA runtime version', whatever toolkit is installed. A "
        "newer minor version is no problem.",
        fixes=fixes,
        targets=of.targets,
        only_with=(f"{ANY_GPU} pythons.frameworks.cuda?",),
        caused_by=(*CUDA_SYSTEM, "python.*", *causes),
        affects=("wheels",),
        read_from_files=True,
        **{"references": (MINOR_VERSIONS, of.docs)} | texts,
    )
    def judged(on: OnFramework) -> Problem | None:
        """The build's CUDA major is newer than the driver's."""
        return behind_framework(on, of.built(on), then=then, severity=severity_of(on))

    return judged


class GpuCode(msgspec.Struct, frozen=True):
    """The GPU code in a build.

    Attributes:
        runs: whether it runs on a compute capability, such as "8.6".
        instead: what the build has in place of code for a compute capability, for people.
        archs: the architectures that it was compiled for: sm_80, compute_90; empty where nothing names them.
    """

    runs: Callable[[str], bool]
    instead: Callable[[str], str]
    archs: tuple[str, ...] = ()

    @classmethod
    def compiled_for(cls, archs: tuple[str, ...], runs: Callable[[str], bool]) -> "GpuCode":
        """The code of a build that names its architectures."""
        return cls(runs, lambda capability: words(archs, capability), archs)


GpuFixes = Callable[[OnFramework, GpuCode, Gpu], tuple[Fix, ...]]


def arch_missing(
    of: FrameworkFamily,
    module: str,
    *,
    code: Callable[[OnFramework], GpuCode | None],
    fixes: GpuFixes | None = None,
    by_side: Mapping[Literal["newer", "older", "between"], str] | None = None,
    otherwise: Callable[[OnFramework, GpuCode], Problem | None] = lambda *_: None,
    **texts: Any,
) -> Check[OnFramework]:
    """The check for a build without code for a visible GPU's compute capability.

    Args:
        of: the framework.
        module: the module of the check's file.
        code: the GPU code of the build; None: it has none, or nobody keeps a table of it.
        fixes: where installing a fitting build is not the way; for the first GPU without code.
        by_side: the cause, where the GPU is newer or older than all that was compiled, or between.
        otherwise: what is to be reported where every GPU has code.
        texts: further arguments of `check_engine.Check`.
    """

    def fixes_of(on: OnFramework) -> tuple[Fix, ...]:
        found = present(code(on))
        return fixes(on, found, _without(on, found)[0]) if fixes else of.fitting(on)

    @check(
        module=module,
        title=f"{of.title} has no code for this GPU's compute capability",
        severity=Severity.ERROR,
        fixes=fixes_of,
        targets=of.targets,
        only_with=(f"{ANY_GPU} pythons.frameworks.cuda?",),
        affects=("wheels",),
        read_from_files=True,
        **texts,
    )
    def judged(on: OnFramework) -> Problem | None:
        """Neither machine code nor PTX in the build runs on a GPU that CUDA shows.

        Next to a driver that does not work it is a warning of its own: see `arch_severity`.
        """
        found = code(on)
        gpus = visible_gpus(on.facts)
        if found is None or not gpus:
            return None
        without = _without(on, found)
        if not without:
            for gpu in gpus:
                known(gpu.capability)
            return otherwise(on, found)
        gpu, more = without[0], f" and {len(without) - 1} more" if len(without) > 1 else ""
        capability = present(gpu.capability)
        return Problem(
            f"{of.built(on)} has no kernels for {gpu_words(gpu)}{more}: {found.instead(capability)}.",
            evidence=(f"compiled for: {' '.join(found.archs)}",) if found.archs else (),
            cause=by_side[side(found.archs, capability)] if by_side else None,
            severity=Severity.ADVICE if len(without) < len(gpus) else arch_severity(on.facts),
        )

    return judged


def _without(on: OnFramework, code: GpuCode) -> list[Gpu]:
    """The visible GPUs of a known compute capability on which nothing in the build runs."""
    return [g for g in visible_gpus(on.facts) if isinstance(g.capability, str) and not code.runs(g.capability)]


def wrong_cuda_major(
    of: FrameworkFamily,
    module: str,
    *,
    missing: Callable[[OnFramework], tuple[Need, ...]],
    causes: Sequence[str] = (),
    there: Callable[[OnFramework, str], str | None] = lambda _, other: other,
    then: str = "",
    evidence: Lines = _none,
    cause_of: Callable[[str], str | None] = lambda _: None,
    severity_of: SeverityOf = lambda _: None,
    **texts: Any,
) -> Check[OnFramework]:
    """The check for a build for one CUDA major next to the libraries of another.

    Args:
        of: the framework.
        module: the module of the check's file.
        missing: the libraries that the loader does not find.
        causes: ids of its own checks whose problem explains this one.
        there: what is installed in place of what is missing, for people; None: this is another problem.
        then: what follows, with the colon before it.
        evidence: what the framework wrote about it.
        cause_of: the cause, where the name of a missing library gives another one than the check's own.
        severity_of: the severity, where it is not an error.
        texts: further arguments of `check_engine.Check`.
    """

    @check(
        module=module,
        title=f"{of.title} is built for another CUDA major than the installed libraries",
        severity=Severity.ERROR,
        targets=of.targets,
        caused_by=("python.*", *causes),
        affects=("wheels",),
        read_from_files=True,
        **{"fixes": of.fitting} | texts,
    )
    def judged(on: OnFramework) -> Problem | None:
        """What is missing is there in another major only; what is in a wheel is missing for another reason."""
        others = other_majors(on.facts, on.python, [need for need in missing(on) if need.wheel is None])
        if not others:
            return None
        first = next(iter(others))
        installed = there(on, others[first])
        if installed is None:
            return None
        built = phrase(" is built for CUDA {} and", on.framework.cuda)
        pairs = (f"{wanted} is missing, {other} is installed" for wanted, other in others.items())
        return Problem(
            f"{of.built(on)}{built} needs {first}; installed is only {installed}{then}.",
            (*tuple(pairs)[:5], *evidence(on)),
            cause=cause_of(first),
            severity=severity_of(on),
        )

    return judged


def cudnn_too_old(
    of: FrameworkFamily,
    module: str,
    *,
    lowest: Callable[[OnFramework], str | None],
    severity_of: SeverityOf = lambda _: None,
    **texts: Any,
) -> Check[OnFramework]:
    """The check for a framework that loads an older cuDNN than it was compiled with.

    Args:
        of: the framework.
        module: the module of the check's file.
        lowest: the oldest release of cuDNN that it takes, such as "9.8"; None: nobody keeps a table of it.
        severity_of: the severity, where it is not the check's own.
        texts: further arguments of `check_engine.Check`.
    """

    def fixes(on: OnFramework) -> tuple[Fix, ...]:
        oldest = present(lowest(on) or _refused(on)[1])
        wheel = next(iter(wheels(on.python, "cudnn")), None)
        name = wheel.name if wheel else f"nvidia-cudnn-cu{present(major(text_of(on.framework.cuda)))}"
        capabilities = (gpu.capability for gpu in visible_gpus(on.facts))
        firsts = (first_without("cudnn", each) for each in capabilities if isinstance(each, str))
        bounds = [first for first in firsts if first and numbers(first) > numbers(oldest)]
        spec = f"{name}>={oldest},<{min(bounds, key=numbers, default=str(present(major(oldest)) + 1))}"
        message = (
            f"Install cuDNN {oldest} or newer of the same major. Where PyTorch pins another version, keep the two in "
            "separate environments."
        )
        proof = framework_proof(on.python, of.module)
        if any(one.name == "cudnn" for one in conda_of(on.python)):
            task = conda_install(on.python, f"cudnn{spec.removeprefix(name)}")
        else:
            task = install(on.python, spec)
        return (Fix(message, (task,), "reinstall-package", verify=proof),)

    @check(
        module=module,
        title=f"cuDNN is older than {of.title} requires",
        fixes=fixes,
        targets=of.targets,
        affects=("wheels",),
        read_from_files=True,
        **texts,
    )
    def judged(on: OnFramework) -> Problem | None:
        """The framework refused its cuDNN, or the loader finds one that is older than the oldest that it takes."""
        if known(on.framework.cuda) is None or not nvidia_gpus(on.facts):
            return None
        live = on.framework.live
        lines = [line.strip() for line in (live.stderr.splitlines() if live else []) if "cudnn" in line.lower()]
        loaded, compiled = _refused(on)
        oldest = lowest(on) or compiled
        if loaded is None:
            known(on.framework.needs)
            found = next(
                (n for n in needs_of(on.framework) if family(n.soname) == "libcudnn" and n.path and n.version), None
            )
            if oldest is None or found is None or numbers(present(found.version)) >= numbers(oldest):
                return None
            loaded = f"{present(found.version)} ({present(found.path)})"
        same = f"{present(oldest).partition('.')[0]}.x"
        message = f"{on.name} requires cuDNN {oldest} or a newer {same} but loads {loaded}."
        return Problem(message, tuple(lines[:3]), severity=severity_of(on))

    return judged


# tensorflow/tensorflow and openxla/xla, xla/stream_executor/cuda/cuda_dnn.cc: it refuses an older minor release.
_CUDNN_REFUSED = pattern(r"Loaded runtime CuDNN library: ([\d.]+) but source was compiled with: (\d+\.\d+)")


def _refused(on: OnFramework) -> tuple[str | None, str | None]:
    """The cuDNN that the framework loaded and refused, and the one it was compiled with, as it writes itself."""
    found = _CUDNN_REFUSED.search(on.framework.live.stderr) if on.framework.live else None
    return (found[1], found[2]) if found else (None, None)


VendorFixes = Callable[[OnFramework, Gpu], tuple[Fix, ...]]
_BUILDS = {"cuda": ("CUDA", "NVIDIA"), "rocm": ("ROCm", "AMD"), "xpu": ("XPU", "Intel")}


def other_vendors_gpu(on: OnFramework, *, brings_rocm: bool) -> Gpu | None:
    """The other vendor's GPU, where none of the vendor that the framework was built for is there.

    Args:
        on: the framework.
        brings_rocm: whether its build for AMD brings ROCm's libraries; else ROCm has to be installed.
    """
    nvidia, amd, variant = nvidia_gpus(on.facts), amd_gpus(on.facts), known(on.framework.variant)
    if variant == "cuda" and not nvidia and not has_nvidia(on.facts) and (brings_rocm or has_rocm(on.facts)):
        return next(iter(amd), None)
    return next(iter(nvidia), None) if variant in ("rocm", "xpu") and not amd else None


def wrong_vendor(
    of: FrameworkFamily,
    module: str,
    *,
    fixes: VendorFixes,
    brings_rocm: bool,
    evidence: Lines = _none,
    **texts: Any,
) -> Check[OnFramework]:
    """The check for a framework built for one vendor's GPUs next to another vendor's alone.

    Args:
        of: the framework.
        module: the module of the check's file.
        fixes: what brings a build for the GPU that is there.
        brings_rocm: whether its build for AMD brings ROCm's libraries. Where it does not, ROCm has to be installed, and
            no other framework of the environment uses the GPU: else this one may be a by-product.
        evidence: what was seen in its files.
        texts: further arguments of `check_engine.Check`.
    """

    def fixes_of(on: OnFramework) -> tuple[Fix, ...]:
        return fixes(on, present(other_vendors_gpu(on, brings_rocm=brings_rocm)))

    @check(
        module=module,
        title=f"{of.title} is built for another vendor's GPUs",
        fixes=fixes_of,
        targets=of.targets,
        only_with=(f"{ANY_GPU} pythons.frameworks.variant?",),
        affects=("wheels",),
        read_from_files=True,
        **texts,
    )
    def judged(on: OnFramework) -> Problem | None:
        """A CUDA build next to AMD GPUs alone, or a ROCm build next to NVIDIA GPUs alone."""
        gpu = other_vendors_gpu(on, brings_rocm=brings_rocm)
        if gpu is None or not (brings_rocm or is_sole(on.python, on.framework)):
            return None
        build, vendor = _BUILDS[present(on.framework.variant)]
        number = text_of(on.framework.cuda if build == "CUDA" else on.framework.hip)
        theirs = "an NVIDIA" if gpu.vendor == "nvidia" else "an AMD"
        message = (
            f"{on.name} is built for {f'{build} {number}'.strip()}, which is for {vendor} GPUs; {gpu_name(gpu)} is "
            f"{theirs} GPU."
        )
        return Problem(message, evidence=evidence(on))

    return judged
