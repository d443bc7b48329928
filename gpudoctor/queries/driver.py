"""Queries about NVIDIA's driver and its versions, answered from facts alone."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.digits import number_of
from gpudoctor.facts import DiskModule, DriverLibrary, Facts
from gpudoctor.knowledge.drivers import cuda_of_branch
from gpudoctor.maybe import Maybe, Unknown, known, known_or, text_of
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import gpus_of, has_dxg, in_container, wants_nvidia

# Seconds by which clocks that are set at boot may be off, with some room.
_BOOT = 600
# The modes of lockdown in which unsigned modules are refused (kernel_lockdown(7)).
STRICT = ("integrity", "confidentiality")
# The driver's packages in Debian that follow it at a distance: nvidia-modprobe 570.133.07 beside a driver 550.163.01
# (https://packages.debian.org/trixie/nvidia-modprobe).
_APART = ("nvidia-modprobe", "nvidia-settings", "nvidia-persistenced", "nvidia-xconfig")
# What the probe reports for a copy that the loader does not reach.
OFF_PATH = "not on the loader's path"
# cuInit's and NVML's results (cuda_errors.toml, nvml_errors.toml).
NVML_LOST, NVML_RESET, NVML_MISMATCH = 15, 16, 18
CUDA_STUB, CUDA_BUSY, CUDA_NO_DEVICE, CUDA_MISMATCH, CUDA_COMPAT, CUDA_UNKNOWN = 34, 46, 100, 803, 804, 999
CUDA_NOT_INITIALIZED, CUDA_OPERATING_SYSTEM, CUDA_NOT_READY = 3, 304, 802


def not_wsl(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where NVIDIA's driver or hardware is wanted and its kernel is Linux's own, not a Windows host's."""
    if wants_nvidia(facts) and not has_dxg(facts) and not isinstance(facts.host.wsl, int):
        yield MACHINE, facts


def own_kernel(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The same outside of containers: there the user can change the kernel's modules."""
    if not in_container(facts):
        yield from not_wsl(facts)


def several_gpus(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where NVML lists more than one GPU."""
    if len(gpus_of(facts, "nvidia")) > 1:
        yield MACHINE, facts


def disk_version(facts: Facts) -> Maybe[str | None]:
    """Version of the module that modprobe would load for the running kernel; None: there is no such file."""
    found = facts.nvidia.kernel.on_disk
    if isinstance(found, Unknown):
        return found
    return found[0].version if found else None


def libraries_beside(facts: Facts) -> tuple[DriverLibrary, DriverLibrary] | None:
    """The libcuda that programs load, and the module's own next to it, where both are files of no package.

    The driver's libraries are of one release, libnvidia-ml as well, so it is no compatibility package. ldconfig links
    the newest release. Azure/AKS#5869: two installers of a node's image, one after the other.
    """
    packages, copies, nvml = facts.nvidia.kernel.packages, facts.nvidia.cuda.libraries, facts.nvidia.nvml.libraries
    if isinstance(packages, Unknown) or isinstance(copies, Unknown) or isinstance(nvml, Unknown):
        return None
    module, user, found = facts.nvidia.kernel.loaded, library_version(facts), loaded_libcuda(facts)
    if not isinstance(module, str) or user in (None, module) or found is None or found.version != user:
        return None
    if disk_version(facts) != module:
        return None  # a reboot may load the libraries' module
    folder = found.real.rpartition("/")[0]
    own = next((c for c in copies if c.version == module and c.real.rpartition("/")[0] == folder), None)
    if own is None or packages_of_release(facts, str(user)):
        return None
    return found, own


def packages_of_release(facts: Facts, release: str) -> tuple[str, ...]:
    """The driver's installed packages of one release; none where the packages are unknown."""
    there = (
        (name, version) for name, version, state in known_or(facts.nvidia.kernel.packages, ()) if state[:1] not in "rp"
    )
    return tuple(name for name, version in there if release in version and name not in _APART)


def held_packages(facts: Facts) -> tuple[str, ...]:
    """The driver's packages that are on hold: apt leaves them as they are (dpkg(1): h as the first letter)."""
    packages = known_or(facts.nvidia.kernel.packages, ())
    return tuple(name for name, _version, state in packages if state[:1] == "h")


def installed_over_packages(facts: Facts) -> bool:
    """Whether NVIDIA's .run installer put its libraries over the packages of another release, whose module is loaded.

    The packages' own rules (modprobe.d) go on loading theirs.
    """
    kernel, user = facts.nvidia.kernel, library_version(facts)
    if kernel.installer != "runfile" or isinstance(kernel.packages, Unknown) or not isinstance(kernel.loaded, str):
        return False
    of_module = disk_version(facts) == kernel.loaded and bool(packages_of_release(facts, kernel.loaded))
    return user not in (None, kernel.loaded) and of_module and not packages_of_release(facts, str(user))


def of_booted_system(facts: Facts) -> bool:
    """Whether the module on disk is the booted system's, which NixOS keeps there until the next boot.

    A rebuild replaces the libraries alone: https://github.com/NixOS/nixpkgs/issues/255070
    """
    disk = disk_version(facts)
    return facts.host.distribution.id == "nixos" and isinstance(disk, str) and disk == facts.nvidia.kernel.loaded


def from_initramfs(facts: Facts) -> str | None:
    """Why the loaded module is the copy in the initial RAM disk (initramfs), and not the file on disk; else None.

    It was loaded before the root file system was there (dracut's systemd logs the change), or the machine was started
    after the file on disk had been installed. A copy on disk with the loaded version explains it otherwise.
    """
    kernel = facts.nvidia.kernel
    disk = kernel.on_disk if isinstance(kernel.on_disk, tuple) else ()
    if not disk or not isinstance(kernel.loaded, str) or any(d.version == kernel.loaded for d in disk):
        return None
    log = facts.log.events if isinstance(facts.log.events, tuple) else ()
    kinds = [e.kind for e in log if e.kind in ("nvidia-loaded", "switch-root")]
    if kinds[-2:] == ["nvidia-loaded", "switch-root"]:
        return "the kernel log shows that it was loaded before the root file system was mounted"
    age, up = disk[0].age, facts.host.uptime
    if isinstance(age, float | int) and isinstance(up, float | int) and age > up + _BOOT:
        return "the machine was restarted after the file on disk had been installed"
    return None


def first_module(facts: Facts) -> DiskModule | None:
    """The module file that modprobe would load; None where there is none or it is unknown."""
    found = facts.nvidia.kernel.on_disk
    return found[0] if isinstance(found, tuple) and found else None


def module_name(facts: Facts) -> str:
    """What the module is called that would be loaded: Debian's files are nvidia-current.ko, nvidia-tesla-470.ko ..."""
    found = first_module(facts)
    name = found.path.rpartition("/")[2].partition(".ko")[0] if found else ""
    return name or "nvidia"


def user_library(facts: Facts) -> DriverLibrary | None:
    """The driver's library that programs load and whose name contains the version; None where there is none.

    Copies that are meant to differ (compat, stub) do not count.

    Raises:
        UnknownFactError: the libraries could not be looked for.
    """
    for found in (known(facts.nvidia.nvml.libraries), known(facts.nvidia.cuda.libraries)):
        for one in found:
            if one.kind in ("driver", "other", "system") and one.found_by != OFF_PATH and isinstance(one.version, str):
                return one
    return None


def library_version(facts: Facts) -> str | None:
    """Version of that library; None where there is none or its name contains no version.

    Raises:
        UnknownFactError: the libraries could not be looked for.
    """
    found = user_library(facts)
    return found.version if found and isinstance(found.version, str) else None


def loaded_libcuda(facts: Facts) -> DriverLibrary | None:
    """The libcuda.so.1 that programs get: the one the child had mapped, else the first in the loader's order."""
    found = facts.nvidia.cuda.libraries
    if isinstance(found, Unknown) or not found:
        return None
    mapped = facts.nvidia.cuda.loaded
    reached = [one for one in found if one.found_by != OFF_PATH]
    return next((one for one in found if mapped in (one.real, one.path)), reached[0] if reached else None)


def found_through(library: DriverLibrary) -> str:
    """How the loader finds it, as part of a sentence."""
    return "the loader's cache" if library.found_by == "cache" else library.found_by


def module_version(facts: Facts) -> str | None:
    """Version of the loaded module, else of the one on disk; None where neither is known."""
    for version in (facts.nvidia.kernel.loaded, disk_version(facts)):
        if isinstance(version, str):
            return version
    return None


def module_flavor(facts: Facts) -> str | None:
    """Flavor (open, proprietary) of the loaded module, else of the one on disk; None where neither is known."""
    kernel = facts.nvidia.kernel
    disk = kernel.on_disk[0].flavor if isinstance(kernel.on_disk, tuple) and kernel.on_disk else None
    return next((f for f in (kernel.flavor, disk) if isinstance(f, str)), None)


def branch(version: str | None) -> int | None:
    """The driver branch of a version: "550.54.14" is of branch 550."""
    return number_of((version or "").partition(".")[0])


def cuda_fails(facts: Facts) -> bool:
    """Whether cuInit fails for another reason than a mask that hides all GPUs.

    Raises:
        UnknownFactError: libcuda could not be asked.
    """
    cuda = facts.nvidia.cuda
    code = known(cuda.code)
    return code not in (0, None) and not (code == CUDA_NO_DEVICE and cuda.unmasked_code == 0)


def module_at_hand(facts: Facts) -> bool:
    """Whether nvidia.ko is loaded, or installed for the running kernel (unknown counts: nothing else explains)."""
    kernel = facts.nvidia.kernel
    return isinstance(kernel.loaded, str) or isinstance(kernel.on_disk, Unknown) or bool(kernel.on_disk)


def driver_version(facts: Facts) -> Maybe[str | None]:
    """The version of NVIDIA's driver: the loaded module's; on WSL, which has none, Windows' own; None: no driver."""
    loaded, nvml = facts.nvidia.kernel.loaded, facts.nvidia.nvml
    if isinstance(loaded, str) or (loaded is None and nvml.code is None):
        return loaded
    return nvml.driver_version


def driver_cuda(facts: Facts) -> Maybe[str | None]:
    """The newest CUDA release that the driver supports, by libcuda, else NVML; None: there is no driver.

    A libcuda that does not run with this driver (a stub, cuda-compat) reports its own: then the driver's branch counts.
    """
    if facts.nvidia.cuda.code in (CUDA_STUB, CUDA_MISMATCH, CUDA_COMPAT):
        number = branch(text_of(facts.nvidia.kernel.loaded))
        return (cuda_of_branch(number) if number else None) or Unknown("the libcuda that programs load does not run")
    logged = facts.nvidia.cuda.version, facts.nvidia.nvml.cuda_version
    return next((v for v in logged if isinstance(v, str)), logged[0])


def driver_words(facts: Facts) -> str:
    """As text: "driver 550.54.14 (CUDA 12.4)"."""
    logged = facts.nvidia.nvml.driver_version, facts.nvidia.kernel.loaded
    number = next((f" {v}" for v in logged if isinstance(v, str)), "")
    cuda = driver_cuda(facts)
    return f"driver{number}" + (f" (CUDA {cuda})" if isinstance(cuda, str) else "")


def driver_runs(cuda: str, driver: str) -> bool:
    """Whether a driver of one CUDA release runs programs built with another: from CUDA 11 on the major decides.

    https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """
    built, has = numbers(cuda), numbers(driver)
    return has >= built[:1] if built >= (11,) else has[:2] >= built[:2]


def has_nvidia_driver(facts: Facts) -> bool:
    """Whether libcuda works and shows a GPU."""
    devices = facts.nvidia.cuda.devices
    return facts.nvidia.cuda.code == 0 and (isinstance(devices, Unknown) or bool(devices))


def user_version(facts: Facts) -> str | None:
    """The version of the NVIDIA libraries that programs load; None where it is unknown. For texts only."""
    for found in (facts.nvidia.nvml.libraries, facts.nvidia.cuda.libraries):
        if not isinstance(found, Unknown):
            for library in found:
                if isinstance(library.version, str) and library.kind in ("driver", "other", "wsl"):
                    return library.version
    return None
