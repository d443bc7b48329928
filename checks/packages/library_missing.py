"""A compiled GPU package needs a shared library that is not here."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts.python import LibraryUser
from gpudoctor.fixes.absent_library import NOT_SHARED, of_interpreter, without_desktop
from gpudoctor.fixes.loading import bring, let_find
from gpudoctor.knowledge.import_errors import survived
from gpudoctor.knowledge.sonames import ffmpeg_of, majors_of
from gpudoctor.knowledge.system_libraries import capability_of
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.libraries import cuda_majors
from gpudoctor.queries.loading import decisive, failures, imports_of, know_all, missing_for, missing_in_words
from gpudoctor.targets import OnPython, pythons

_OUT_OF_REACH = (
    "cuDNN's main library opens the other parts by name when they are first used, and the loader does not search the "
    "directories of NVIDIA's wheels, which PyTorch opens by path. The process aborts with 'Unable to load any of "
    "{libcudnn_ops.so...}', unless PyTorch itself has used cuDNN in it before."
)


class _Lack(msgspec.Struct, frozen=True):
    """A package and the libraries that it lacks."""

    package: str
    version: str
    missing: tuple[str, ...]
    seen: tuple[str, ...]
    fails: bool  # its import raises
    later: bool = False  # they are opened when they are first used
    user: LibraryUser | None = None  # the other package whose library needs them
    copies: tuple[str, ...] = ()  # of all of them in the environment, where the loader does not look


def _found(on: OnPython) -> list[_Lack]:
    """The packages that lack libraries, those first whose import fails."""
    found = []
    for one, error in failures(on.python):
        if missing := missing_in_words(error):  # the loader stops at the first; the files name the others
            more = [each.soname for each in missing_for(on.facts, on.python, one.package)]
            every = decisive((*missing, *more))
            needs = (f"{one.user.path} needs {missing[0]}",) if one.user else ()
            seen = (error[:1500], *needs)
            found.append(_Lack(one.package, one.version, every, seen, not one.later, one.later, one.user))
    versions = {e.package: e.version for e in known(on.python.extensions)}
    for package, version in versions.items():
        if package not in {lack.package for lack in found}:
            absent = missing_for(on.facts, on.python, package)
            seen = tuple(f"{one.needed_by} {'opens' if one.opened else 'needs'} {one.soname}" for one in absent)
            later = all(one.opened for one in absent)
            copies = tuple(one.copy for one in absent if one.copy)
            if absent:
                names = tuple(one.soname for one in absent)
                copies = copies if len(copies) == len(names) else ()
                found.append(_Lack(package, version, names, seen, False, later, copies=copies))
    return found


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    first = _found(on)[0]
    if first.copies:
        return let_find(on, first.package, first.copies)
    fixes = bring(on, first.package, first.version, first.missing)
    return (*fixes, *without_desktop(on, first.user, first.missing)) if first.user else fixes


def _wants(missing: tuple[str, ...]) -> str:
    """What the libraries are of: "CUDA 13", "FFmpeg 5, 6, 7"; empty where no table knows."""
    releases = sorted({release for name in missing if (release := ffmpeg_of(name))}, key=int)
    if releases:
        return f" (FFmpeg {', '.join(releases)})"
    if capability := next((c for name in missing if (c := capability_of(name))), None):
        return f" (NVIDIA driver, capability {capability})"
    cuda = {number for name in missing for number in majors_of(name)}
    return f" (CUDA {cuda.pop()})" if len(cuda) == 1 else ""


def _here(on: OnPython, missing: tuple[str, ...]) -> str:
    """Which CUDA is here, where one is wanted."""
    if not any(majors_of(name) for name in missing):
        return ""
    torch = one_of(on.python, "torch")
    if torch and isinstance(torch.cuda, str):
        return f"; PyTorch here is built for CUDA {torch.cuda}"
    there = sorted(cuda_majors(on.facts, on.python))
    return f"; the CUDA libraries here are of CUDA {', '.join(map(str, there))}" if there else ""


@check(
    title="A GPU package needs a shared library that is missing: cannot open shared object file",
    severity=Severity.ERROR,
    cause="Compiled code names the libraries that it needs with their major version (libcudart.so.13), and the loader "
    "takes no other. The package was built for another release than the one that is installed, or it expects the "
    "library from the system or the NVIDIA driver: slim images leave system libraries out, and a container gets the "
    "driver's video and graphics libraries only if NVIDIA_DRIVER_CAPABILITIES includes them.",
    fixes=_fixes,
    references=(
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
        "https://github.com/SYSTRAN/faster-whisper/issues/1431",
        "https://github.com/meta-pytorch/torchcodec/issues/637",
        "https://github.com/SYSTRAN/faster-whisper/issues/1182",
        "https://github.com/ultralytics/ultralytics/issues/1270",
    ),
    targets=pythons,
    only_with=("pythons.extensions pythons.imports",),
    caused_by=(
        *("python.*", "libraries.*", "packages.extension-abi", "packages.built-for-another-torch", "pytorch.*"),
        *(
            "packages.wrong-vendor",
            "packages.driver-too-old",
            "packages.torchcodec-mismatch",
            "packages.torchvision-mismatch",
            "packages.bitsandbytes-no-binary",
        ),
        *("packages.ctranslate2-cudnn", "driver.library-missing", "driver.not-installed", "container.*", "wsl.*"),
    ),
    affects=("wheels", "extensions"),
    validated_on=("simulated 2026-11",),
)
def library_missing(on: OnPython) -> Problem | None:
    """The import raises the loader's error, or a library that a file needs is neither on the path nor in a wheel."""
    found = _found(on)
    if not found:
        know_all(on.python)
        return None
    first = found[0]
    names, others = ", ".join(first.missing[:4]), sorted({one.package for one in found} - {first.package})
    more = f" The same applies to {', '.join(others)}." if others else ""
    verb = "opens" if first.later else "needs"
    failing = (
        f"{first.package} {first.version} fails to import: it" if first.fails else f"{first.package} {first.version}"
    )
    if first.user:
        failing = f"{first.package} {first.version} fails to import: {first.user.package} {first.user.version}"
    message = f"{failing} {verb} {names}{_wants(first.missing)}, which is not found{_here(on, first.missing)}.{more}"
    if first.copies:
        where = ", ".join(dict.fromkeys(path.rpartition("/")[0] for path in first.copies))
        message = f"{failing} {verb} {names}, which the loader does not find: it is only in {where}.{more}"
    severity = Severity.ERROR if first.fails else Severity.WARNING  # else only a part of the package may need it
    fine = (one for one in imports_of(on.python) if one.error is None and not one.died)
    whole = {one.package for one in fine if not survived(one.package, one.stderr)}
    if not first.later and {one.package for one in found} <= whole:  # it does without that part (torchao), or seldom
        severity = Severity.ADVICE
    cause = _OUT_OF_REACH if first.copies else NOT_SHARED if any(map(of_interpreter, first.missing)) else None
    seen, lacked = tuple(s for one in found for s in one.seen)[:6], tuple(name for one in found for name in one.missing)
    breaks = tuple(one.package for one in found)
    return Problem(message, seen, severity=severity, cause=cause, breaks=breaks, words=lacked)
