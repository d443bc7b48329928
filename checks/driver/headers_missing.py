"""DKMS or akmods cannot build the module because the running kernel's headers are missing."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import debian_driver, module, module_build, own_system, system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.history import kernel_lines
from gpudoctor.targets import cards_of
from gpudoctor.tasks import as_root, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if ways := own_system.build(facts):
        return ways
    if system.is_image(facts):
        return module.new_deployment(facts)
    commands = module.build_commands(facts)
    if not module.headers(facts):
        message = (
            f"Install the headers (kernel-devel) of kernel {system.kernel_of(facts)}, then build the module with DKMS."
        )
        return (Fix(message, commands, "reinstall-package", root=True, verify=query("nvidia-smi")),)
    last, needs, then = module.loading(facts)
    message = f"Install the running kernel's headers, build the module, and {then}."
    own = Fix(
        message,
        (*commands, last),
        "reinstall-package",
        root=True,
        needs=needs,
        verify=query("nvidia-smi"),
    )
    built = module_build.with_built_kernel(facts)
    ready = () if built is None else (built,)
    if facts.nvidia.kernel.headers_offered is False:
        return (*ready, *_with_newest_kernel(facts), _of_that_kernel(facts))
    rest = (own, *_with_newest_kernel(facts))
    return (*ready, *rest) if module_build.is_of_another_release(facts) else (*rest, *ready)


def _of_that_kernel(facts: Facts) -> Fix:
    """What a kernel needs that was compiled here, or whose package source is gone."""
    release = system.kernel_of(facts)
    message = (
        f"Install the headers package that was made together with kernel {release} (`make bindeb-pkg` makes "
        f"linux-headers-{release}), or keep its source tree where /lib/modules/{release}/build leads. Then build the "
        "module with DKMS."
    )
    commands = tuple(one for one in module.build_commands(facts) if one not in module.headers(facts))
    verify = query("nvidia-smi")
    return Fix(message, (*commands, as_root("modprobe", "nvidia")), "reinstall-package", root=True, verify=verify)


def _with_newest_kernel(facts: Facts) -> tuple[Fix, ...]:
    """For an archive that has not the headers of all its kernels; Fedora's has those of the newest and the first."""
    newest = debian_driver.kernel_packages(facts)
    if facts.host.distribution.id == "debian" and len(newest) > 1:
        commands = (as_root("apt-get", "update"), *system.install(facts, *newest))
        program, archive, builds = "apt", "Debian's archive", "for which DKMS builds the module"
    elif facts.host.distribution.id == "fedora" and packages.is_familys_kernel("fedora", system.kernel_of(facts)):
        commands = (as_root("dnf", "upgrade", "--refresh", "kernel*"), *system.install(facts, "kernel-devel-matched"))
        program, archive, builds = "dnf", "Fedora's repository", "for which akmods or DKMS builds the module"
    else:
        return ()
    why = f"If {program} does not find them, because {archive} no longer has the headers of an older kernel: install"
    if facts.nvidia.kernel.headers_offered is False:
        why = "Install"
    message = f"{why} the newest kernel with its headers, {builds}, then reboot."
    return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)


@check(
    title="Kernel headers missing: NVIDIA's module cannot be built",
    severity=Severity.ERROR,
    cause="DKMS and akmods compile the module against the headers of the running kernel; without headers they skip it.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/", "https://github.com/dell/dkms"),
    targets=own_kernel,
    caused_by=(*DEAD, "driver.realtime-kernel", "driver.vfio-in-the-way"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def headers_missing(facts: Facts) -> Problem | None:
    """No module for this kernel, something that would build it, and no headers."""
    kernel = facts.nvidia.kernel
    if not cards_of(facts, "nvidia") or known(kernel.loaded) is not None or known(kernel.on_disk):
        return None
    builders = known_or(kernel.dkms, None) or any(
        "akmod" in name or "dkms" in name for name in module.driver_packages(facts)
    )
    if not builders or known(facts.host.kernel.headers) or module.kernel_gone(facts):
        return None
    release = system.kernel_of(facts)
    message = f"There is no NVIDIA module for kernel {release}, and it cannot be built: its headers are not installed."
    if kernel.headers_offered is False:
        message += " No package source here has them."
    seen = f"/lib/modules/{release}/build has no Makefile"
    return Problem(message, (*kernel_lines(facts), seen, *facts.nvidia.kernel.dkms_errors[:3]))
