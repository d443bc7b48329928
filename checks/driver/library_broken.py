"""libcuda or libnvidia-ml is there, but the loader cannot load it."""

import re

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Cuda, DriverLibrary, Facts, Nvml
from gpudoctor.fixes import driver, runfile, system
from gpudoctor.fixes.verify_commands import cuda_proof
from gpudoctor.maybe import known_or
from gpudoctor.queries.cause_groups import SURROUNDINGS, VERSIONS
from gpudoctor.queries.driver import OFF_PATH
from gpudoctor.targets import in_container, nvidia_machine
from gpudoctor.tasks import Shell, Task, export, query, unset

_ABSENT = "cannot open shared object file: No such file or directory"
_WHAT = {"libcuda.so.1": "no program can use CUDA", "libnvidia-ml.so.1": "nvidia-smi fails, and so do NCCL and vLLM"}
# What glibc's loader reports (elf/dl-load.c, dl-lookup.c, dl-version.c), and what it means.
_CAUSES = (
    (
        r"undefined symbol: (\S+?),?(?: version.*)?$",
        "It needs a function ({0}) that no library here has: the driver's libraries are from different releases, or "
        "another library of the same name is loaded first.",
    ),
    (
        r"version [`'](\S+?)' not found",
        "It needs {0}, which this system's C library does not have: the driver is newer than the system that it "
        "runs on.",
    ),
    (rf"(\S+): {_ABSENT}", "It needs {0}, which is not installed: a part of the driver was left out or removed."),
    (r"wrong ELF class|wrong architecture|ELF file's phentsize", "The file is for another CPU architecture."),
    (
        r"file too short|invalid ELF header|cannot read file data|ELF load command|section header|only ET_DYN",
        "The file is not a complete library: it was truncated (a full disk, an interrupted installation) or "
        "overwritten.",
    ),
    (r"Permission denied", "This user has no permission to read the file."),
    (r"[Cc]annot allocate memory", "The process hit its limit for mapped memory (ulimit -v)."),
)


class Broken(msgspec.Struct, frozen=True):
    """A library that does not load: its name, the loader's message, and the copy that the loader picks."""

    soname: str
    words: str
    copy: DriverLibrary | None


def _broken(facts: Facts) -> list[Broken]:
    asked = (("libcuda.so.1", facts.nvidia.cuda), ("libnvidia-ml.so.1", facts.nvidia.nvml))
    return [found for soname, answer in asked if (found := _refused(soname, answer))]


def _refused(soname: str, answer: Cuda | Nvml) -> Broken | None:
    """What the loader reported of a library of which it finds copies; missing ones have their own check."""
    words = known_or(answer.text, None) or ""
    reached = [one for one in known_or(answer.libraries, ()) if one.found_by != OFF_PATH]
    if reached and reached[0].kind == "stub":  # reported by driver.stub-library
        return None
    if answer.loaded is not None or answer.code is not None or not reached or not words:
        return None
    if re.match(rf"{re.escape(soname)}: {_ABSENT}", words):
        return None
    return Broken(soname, words, reached[0])


def _cause(words: str) -> str | None:
    for shape, text in _CAUSES:
        if match := re.search(shape, words):
            return text.format(*match.groups())
    return None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = _broken(facts)
    if not found:
        return ()
    first = found[0]
    verify = cuda_proof(facts) if first.soname == "libcuda.so.1" else query("nvidia-smi")
    if "not found" in first.words and "version" in first.words:
        message = "Use an image or a distribution with a newer C library, or a driver of an older branch."
        return (Fix(message, verify=verify, impact="none"),)
    if re.search(r"[Cc]annot allocate memory", first.words):
        return (Fix("Remove the limit.", (Shell("ulimit -v unlimited"),), "change-environment", verify=verify),)
    if first.copy and first.copy.found_by == "LD_LIBRARY_PATH":
        return (_without(facts, first.copy.path.rpartition("/")[0], verify),)
    if in_container(facts):
        message = (
            "On the host: reinstall the driver's packages, then recreate the container from its image, so that the "
            "libraries are mounted again."
        )
        return (Fix(message, (), "restart-process", needs="restart of the container", verify=verify),)
    return (_again(facts, verify),)


def _without(facts: Facts, folder: str, verify: Task | None) -> Fix:
    value = facts.host.environment.get("LD_LIBRARY_PATH", "")
    rest = ":".join(part for part in value.split(":") if part and part.rstrip("/") != folder)
    message = f"Remove {folder} from LD_LIBRARY_PATH, here and where it is set: its copy shadows the driver's own."
    command = export("LD_LIBRARY_PATH", rest) if rest else unset("LD_LIBRARY_PATH")
    return Fix(message, (command,), "change-environment", undo=(export("LD_LIBRARY_PATH", value),), verify=verify)


def _again(facts: Facts, verify: Task | None) -> Fix:
    """Reinstall the packages that contain the libraries, in the installed version."""
    version = known_or(facts.nvidia.kernel.loaded, None)
    if runfile.uses_runfile(facts):
        message = f"Run NVIDIA's installer of driver {version or 'your version'} again: it reinstalls all libraries."
        return Fix(message, runfile.run_installer(facts, version), "reinstall-package", root=True, verify=verify)
    names = driver.library_packages(facts)
    commands = system.reinstall(facts, *names) if names else ()
    which = f", {version}" if version else ""
    message = f"Reinstall the driver's libraries in the version of the kernel module{which}."
    return Fix(message, commands, "reinstall-package", root=True, verify=verify)


@check(
    title="NVIDIA driver library cannot be loaded",
    severity=Severity.ERROR,
    cause="The file exists, but the dynamic loader cannot load it: it is damaged, for another architecture, or does "
    "not fit the libraries around it.",
    fixes=_fixes,
    references=(
        "https://man7.org/linux/man-pages/man3/dlopen.3.html",
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    ),
    targets=nvidia_machine,
    caused_by=(*VERSIONS, "driver.library-missing", "host.address-space-limit", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def library_broken(facts: Facts) -> Problem | None:
    """The loader finds a copy of libcuda.so.1 or libnvidia-ml.so.1, and dlopen fails."""
    found = _broken(facts)
    if not found:
        return None
    first = found[0]
    path = first.copy.path if first.copy else first.soname
    also = f" {found[1].soname} cannot be loaded either." if len(found) > 1 else ""
    message = f"{path} cannot be loaded: {_WHAT[first.soname]}.{also}"
    return Problem(message, tuple(one.words for one in found), cause=_cause(first.words))
