"""A Linux driver installed inside WSL."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import wsl
from gpudoctor.fixes.system import family_of, remove
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.queries.driver import OFF_PATH
from gpudoctor.queries.loading import NO_CUDA, failures
from gpudoctor.queries.packages import package
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import Tasks, as_root, query

# Packages with driver files that sit next to the Windows driver's or shadow them.
DRIVER = (
    "nvidia-utils",
    "nvidia-driver",
    "libnvidia-",
    "libcuda1",
    "cuda-drivers",
    "nvidia-compute-utils",
    "nvidia-dkms",
)
MORE = ("nvidia-kernel", "nvidia-open", "xserver-xorg-video-nvidia", "nvidia-headless", "nvidia-settings")
HARMLESS = ("libnvidia-container", "libnvidia-egl", "libnvidia-ml-dev")
# They open libcuda.so before libcuda.so.1 (numba/cuda/cudadrv/driver.py, find_driver).
_OPEN_PLAIN = ("numba", "numba-cuda")


def _packages(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Name and version of the installed packages of a Linux driver."""
    listed = known_or(facts.nvidia.kernel.packages, ())
    names = tuple((name, version) for name, version, state in listed if state[:1] in ("i", "") and state[1:2] != "n")
    return tuple(p for p in names if p[0].startswith((*DRIVER, *MORE)) and not p[0].startswith(HARMLESS))


def _files(facts: Facts) -> tuple[DriverLibrary, ...]:
    """Libraries of a Linux driver; CUDA's compat package and its stubs are not a driver."""
    found: list[DriverLibrary] = []
    for copies in (facts.nvidia.cuda.libraries, facts.nvidia.nvml.libraries):
        found += [] if isinstance(copies, Unknown) else copies
    return tuple(one for one in found if one.kind in ("driver", "other") and not one.real.startswith("/usr/lib/wsl/"))


def _works(facts: Facts) -> bool:
    """Whether CUDA and NVML work; a Linux driver's library may crash the program that calls it."""
    cuda, nvml = facts.nvidia.cuda, facts.nvidia.nvml
    if cuda.died or nvml.died or cuda.hung or nvml.hung:
        return False
    return known(cuda.code) == 0 and known(nvml.code) == 0


def _shadowed(facts: Facts) -> DriverLibrary | None:
    """The Linux driver's library that programs get which open libcuda.so; WSL's own has that name for linkers alone."""
    found = (one for one in known_or(facts.nvidia.link_libraries, ()) if one.found_by != OFF_PATH)
    first = next(found, None)
    return first if first and first.kind not in ("wsl", "stub") and "/usr/lib/wsl/" not in first.real else None


def _plain_users(facts: Facts) -> tuple[str, ...]:
    """The installed packages that open libcuda.so, with their versions."""
    found = (package(python, name) for python in facts.pythons for name in _OPEN_PLAIN)
    return tuple(dict.fromkeys(f"{one.name} {one.version}" for one in found if one))


def _refused(facts: Facts) -> tuple[str, ...]:
    """What packages report whose import finds no device."""
    found = (error for python in facts.pythons for _, error in failures(python))
    return tuple(error[:300] for error in found if NO_CUDA.search(error))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    names = tuple(name for name, _ in _packages(facts))
    if facts.nvidia.kernel.installer == "runfile" and not names:
        commands: Tasks = (as_root("nvidia-uninstall"), as_root("ldconfig"))
    elif names and family_of(facts):
        tidy = (as_root("apt-get", "autoremove", "--purge"),) if family_of(facts) == "debian" else ()
        commands = (*remove(facts, *names), *tidy, as_root("ldconfig"))
    else:
        moved = tuple(as_root("rm", one.real) for one in _files(facts))
        commands = (*moved, as_root("ldconfig"))
    return (
        Fix(
            "Remove the Linux driver and its libraries from WSL (the CUDA Toolkit may stay), then restart WSL from "
            "Windows: programs have to use the Windows driver's libraries in /usr/lib/wsl/lib.",
            (*commands, wsl.SHUTDOWN),
            "reinstall-package",
            root=True,
            needs="restart of WSL",
            impact="persistent",
            verify=query("/usr/lib/wsl/lib/nvidia-smi"),
        ),
    )


@check(
    title="A Linux NVIDIA driver is installed inside WSL",
    severity=Severity.ERROR,
    cause="WSL uses the Windows driver, whose libraries are in /usr/lib/wsl/lib. Linux driver packages (nvidia-utils, "
    "libnvidia-compute, cuda-drivers) install a libcuda and a libnvidia-ml that need a kernel module which cannot "
    "exist here, and shadow the right ones.",
    fixes=_fixes,
    references=(wsl.CUDA_ON_WSL, "https://github.com/microsoft/WSL/issues/9166"),
    targets=wsl_machine,
    caused_by=("wsl.no-dxg",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def linux_driver_installed(facts: Facts) -> Problem | None:
    """ERROR where the driver does not work, ADVICE where the right libraries are found anyway."""
    if known(facts.host.wsl) != 2 or in_container(facts):
        return None
    packages, files = _packages(facts), _files(facts)
    if not packages and not files:
        return None
    works, shadow = _works(facts), _shadowed(facts)
    named = ", ".join(f"{name} {version}" for name, version in packages) or ", ".join(one.real for one in files)
    message = f"A Linux driver is installed in this WSL distribution: {named}."
    evidence = tuple(f"{one.real} ({one.found_by})" for one in files[:3])
    users = _plain_users(facts) if works and shadow else ()
    if not shadow or not users:
        return Problem(message, evidence, severity=Severity.ADVICE if works else Severity.ERROR)
    refused = _refused(facts)
    message += f" libcuda.so is that driver's ({shadow.real}); {' and '.join(users)} open libcuda.so, not libcuda.so.1,"
    message += " and find no device."
    return Problem(message, (*evidence, *refused), severity=Severity.ERROR if refused else Severity.WARNING)
