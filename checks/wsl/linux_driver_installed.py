"""A Linux driver installed inside WSL."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import wsl
from gpudoctor.fixes.system import family_of, remove
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import Tasks, as_root, query

# What brings driver files that stand beside or before the Windows driver's.
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


def _packages(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Name and version of the installed packages of a Linux driver."""
    listed = known_or(facts.nvidia.kernel.packages, ())
    names = tuple((name, version) for name, version, state in listed if state[:1] in ("i", "") and state[1:2] != "n")
    return tuple(p for p in names if p[0].startswith((*DRIVER, *MORE)) and not p[0].startswith(HARMLESS))


def _files(facts: Facts) -> tuple[DriverLibrary, ...]:
    """Libraries of a Linux driver; CUDA's compatibility package and its stubs are no driver."""
    found: list[DriverLibrary] = []
    for copies in (facts.nvidia.cuda.libraries, facts.nvidia.nvml.libraries):
        found += [] if isinstance(copies, Unknown) else copies
    return tuple(one for one in found if one.kind in ("driver", "other") and not one.real.startswith("/usr/lib/wsl/"))


def _works(facts: Facts) -> bool:
    """Whether CUDA and NVML answer; a library of a Linux driver may crash the program that asks."""
    cuda, nvml = facts.nvidia.cuda, facts.nvidia.nvml
    if cuda.died or nvml.died or cuda.hung or nvml.hung:
        return False
    return known(cuda.code) == 0 and known(nvml.code) == 0


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
            "Remove the Linux driver and its libraries from WSL (the CUDA toolkit may stay), then restart WSL "
            "from Windows: the Windows driver's own libraries in /usr/lib/wsl/lib are the right ones.",
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
    cause="In WSL the driver is Windows's, and its libraries lie in /usr/lib/wsl/lib. Packages of a Linux driver "
    "(nvidia-utils, libnvidia-compute, cuda-drivers) bring a libcuda and a libnvidia-ml that talk to a kernel module "
    "which cannot exist here, and shadow the right ones.",
    fixes=_fixes,
    references=(wsl.CUDA_ON_WSL, "https://github.com/microsoft/WSL/issues/9166"),
    targets=wsl_machine,
    caused_by=("wsl.version-1", "wsl.no-dxg"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def linux_driver_installed(facts: Facts) -> Problem | None:
    """ERROR where the driver does not answer, ADVICE where the right libraries are found all the same."""
    if known(facts.host.wsl) != 2 or in_container(facts):
        return None
    packages, files = _packages(facts), _files(facts)
    if not packages and not files:
        return None
    works = _works(facts)
    named = ", ".join(f"{name} {version}" for name, version in packages) or ", ".join(one.real for one in files)
    message = f"A Linux driver is installed in this WSL distribution: {named}."
    evidence = tuple(f"{one.real} ({one.found_by})" for one in files[:3])
    return Problem(message, evidence, severity=Severity.ADVICE if works else Severity.ERROR)
