"""NVIDIA's libraries without a kernel module for any kernel."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, runfile, system
from gpudoctor.fixes.driver import branch_of, flavor_for, install_driver
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import library_version, own_kernel
from gpudoctor.queries.history import kernel_lines
from gpudoctor.targets import cards_of
from gpudoctor.tasks import query


def _version(facts: Facts) -> str | None:
    """Version of the driver's libraries, also of those that no loader finds: dpkg links them only when it is done.

    Those outside of the system's directories are of a driver that something else loads, such as the GPU Operator.
    """
    copies = (*known(facts.nvidia.nvml.libraries), *known(facts.nvidia.cuda.libraries))
    own = (one for one in copies if one.kind == "driver" and one.real.startswith("/usr/lib"))
    unlinked = (one.version for one in own if isinstance(one.version, str))
    return library_version(facts) or next(unlinked, None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    version = _version(facts)
    if module.kernel_gone(facts):
        return (module.into_new_kernel(facts),)
    if runfile.uses_runfile(facts) or known_or(facts.nvidia.kernel.dkms, None) or module.unlisted(facts):
        return (*_finish(facts), *module.rebuild(facts, version))
    if system.half_installed(facts):
        return (install_driver(facts, branch_of(version)),)
    brings = _module_package(facts, branch_of(version))
    return (brings, *module.rebuild(facts, version)[1:]) if brings else (install_driver(facts, branch_of(version)),)


def _finish(facts: Facts) -> tuple[Fix, ...]:
    """Let dpkg finish what it began: that builds the module, and lays the files by which modprobe finds it."""
    if not (tasks := system.finished(facts)):
        return ()
    last, needs, then = module.loading(facts)
    message = f"Finish the installation that dpkg began, which builds the module; then {then}."
    verify = query("nvidia-smi")
    return (Fix(message, (*tasks, last), "reinstall-package", root=True, needs=needs, verify=verify),)


def _module_package(facts: Facts, branch: int | None) -> Fix | None:
    """The package of this distribution that builds the module for the installed libraries."""
    family, distribution = system.family_of(facts), facts.host.distribution.id
    if family is None or branch is None or not isinstance(distribution, str):
        return None
    found = packages.driver_packages(
        family, distribution, branch, flavor_for(facts, branch) or "open", system.kernel_of(facts)
    )
    names = (found.dkms or found.names[0],) if found and found.origin != "AUR" else ()
    if not names:
        return None
    last, needs, _ = module.loading(facts)
    return Fix(
        "Install the package that contains the kernel module, with the running kernel's headers.",
        (*module.headers(facts), *system.install(facts, *names), last),
        "reinstall-package",
        root=True,
        needs=needs,
        verify=query("nvidia-smi"),
    )


@check(
    title="NVIDIA's kernel module is not installed for the running kernel",
    severity=Severity.ERROR,
    cause="The driver has two halves: the libraries are installed, the kernel module nvidia.ko is not.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",),
    targets=own_kernel,
    caused_by=(
        *DEAD,
        "driver.realtime-kernel",
        "driver.vfio-in-the-way",
        "driver.not-installed",
        "driver.headers-missing",
        "driver.dkms-entry-stale",
        "driver.dkms-build-failed",
        "driver.built-for-another-kernel",
        "driver.blacklisted",
        "driver.stopped-by-ibt",
    ),
    affects=("everything",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def no_module_for_kernel(facts: Facts) -> Problem | None:
    """Libraries and a GPU, but no nvidia.ko under /lib/modules."""
    kernel = facts.nvidia.kernel
    if not cards_of(facts, "nvidia") or known(kernel.loaded) is not None or known(kernel.on_disk):
        return None
    user = _version(facts)
    if user is None and not known(kernel.dkms):
        return None
    release = system.kernel_of(facts)
    what = f"The driver's libraries {user} are installed" if user else "DKMS lists NVIDIA's driver"
    entries = kernel.dkms if isinstance(kernel.dkms, tuple) else ()
    lines = tuple(f"dkms: {e.module}/{e.version} {e.kernel or ''} {e.state}".replace("  ", " ") for e in entries)
    lost = next(iter(module.unlisted(facts)), None)
    more = f" DKMS does not list {lost}, whose source is in /usr/src." if lost else ""
    if begun := system.half_installed(facts):
        others = f" and {len(begun) - 3} more packages" if len(begun) > 4 else ""
        named = ", ".join(begun[:3] if others else begun)
        more += f" dpkg began to install {named}{others}, and did not finish."
    return Problem(
        f"{what}, but there is no kernel module nvidia.ko for the running kernel {release}.{more}",
        (*kernel_lines(facts), *lines),
    )
