"""Libraries newer or older than the module on disk, so that a reboot cannot help."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import kernel_packages, module
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import SURROUNDINGS
from gpudoctor.queries.driver import (
    disk_version,
    first_module,
    held_packages,
    installed_over_packages,
    libraries_beside,
    library_version,
    of_booted_system,
    own_kernel,
)
from gpudoctor.queries.history import driver_lines
from gpudoctor.queries.kernel_log import events, texts

_WRONG_SOURCE = (
    "The package of the module is faulty: it is called {user}, but its source for DKMS is that of {source} "
    "(NVIDIA_VERSION in version.mk). DKMS builds {source} again and again."
)
_BROUGHT = (
    "The running kernel's own package contains NVIDIA's module (in its directory nvidia), of another release than the "
    "libraries. It counts as the driver's kernel module (nvidia-kmod), so akmods reports that all is there and "
    "builds nothing."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    user = library_version(facts) or "the libraries' version"
    source, path = _source(facts, user), _of_kernel(facts)
    if path:
        return kernel_packages.with_module(facts, user, path)
    return module.older_libraries(facts, user, source) if source else module.finish_upgrade(facts, user)


def _of_kernel(facts: Facts) -> str | None:
    """The module's path, where the kernel's own package brought it, and not akmods, DKMS or a kmod package.

    CachyOS/copr-linux-cachyos#62: /lib/modules/RELEASE/nvidia.
    """
    found = first_module(facts)
    folder = found.path.partition(f"/{found.kernel}/")[2].partition("/")[0] if found else ""
    return found.path if found and folder == "nvidia" else None


def _source(facts: Facts, user: str) -> str | None:
    """The version of DKMS's source, where the package that has the libraries' version contains another one.

    Nobara-Project/rpm-sources#525, Frogging-Family/nvidia-all#394.
    """
    entries = known_or(facts.nvidia.kernel.dkms, None) or ()
    disk = known_or(disk_version(facts), None)
    return next((e.source for e in entries if e.version == user and e.source == disk != user), None)


@check(
    title="Driver half upgraded: the module on disk does not match the libraries",
    severity=Severity.ERROR,
    cause="The package manager replaced the libraries but not the kernel module, or DKMS did not build the new one. "
    "The versions mismatch, and a reboot would load the same old module again.",
    fixes=_fixes,
    references=(
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/commonproblems.html",
        "https://github.com/CachyOS/copr-linux-cachyos/issues/62",
    ),
    targets=own_kernel,
    caused_by=("driver.dkms-build-failed", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def half_upgraded(facts: Facts) -> Problem | None:
    """Compare the module on disk with the libraries, where the loaded one already differs from them."""
    if facts.nvidia.nvml.code == 0 and facts.nvidia.cuda.code == 0:
        return None  # programs load other libraries
    loaded, user = known(facts.nvidia.kernel.loaded), library_version(facts)
    if loaded is None or user is None or loaded == user:
        return None
    disk = known(disk_version(facts))
    if disk is None or disk == user or of_booted_system(facts):
        return None
    if libraries_beside(facts) or installed_over_packages(facts):  # driver.mixed-installation
        return None
    same = "which is also loaded" if disk == loaded else f"and {loaded} is loaded: three versions that all differ"
    message = f"The driver's libraries are {user}, but the module on disk is {disk}, {same}. A reboot cannot fix this."
    source = _source(facts, user)
    cause = _WRONG_SOURCE.format(user=user, source=source) if source else _BROUGHT if _of_kernel(facts) else None
    if held := held_packages(facts):
        message += f" Packages on hold (apt-mark hold), which upgrades pass over: {', '.join(held)}."
    evidence = (*driver_lines(facts, user), *_packages(facts, user))
    return Problem(message, (*evidence, *texts(events(facts, "api-mismatch", "api-mismatch-module"))), cause)


def _packages(facts: Facts, user: str) -> tuple[str, ...]:
    """The packages of another version than the libraries' first: what was left behind is among them."""
    found = sorted(known_or(facts.nvidia.kernel.packages, ()), key=lambda one: user in one[1])
    return tuple(f"{name} {version} ({state})" for name, version, state in found[:6])
