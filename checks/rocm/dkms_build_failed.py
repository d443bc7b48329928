"""DKMS did not build AMD's module for the running kernel."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Dkms, Facts
from gpudoctor.fixes import amd, system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_driver import amd_driver, works
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import in_container
from gpudoctor.tasks import Shell, as_root, query


def _missing(facts: Facts) -> tuple[Dkms, ...]:
    """DKMS's lines where none shows the module as built or installed for the running kernel."""
    lines, release = known(facts.amd.dkms) or (), known(facts.host.kernel.release)
    ready = any(d.kernel == release and d.state.startswith(("installed", "built")) for d in lines)
    return () if ready else lines


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    lines, release, family = _missing(facts), system.kernel_of(facts), system.family_of(facts)
    headers = system.install(facts, packages.headers_package(family, release)) if family else ()
    one = lines[0]
    build = as_root("dkms", "install", f"{one.module}/{one.version}", "-k", release)
    rebuild = Fix(
        "Install the headers of the running kernel and rebuild the module; make.log shows why the build fails.",
        (*headers, build, query("tail", "-n", "30", f"/var/lib/dkms/{one.module}/{one.version}/build/make.log")),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=query("dkms", "status"),
    )
    # Its version is that of the kernel whose amdgpu it is. What DKMS could not build for a kernel that is not older,
    # with the headers there, it cannot build again.
    older = numbers(one.version)[:2] <= numbers(release)[:2]
    if facts.host.kernel.headers is True and older:
        remove = amd.remove_dkms(
            facts,
            "Remove amdgpu-dkms: its build fails although the kernel's headers are installed, mostly because this "
            "release of it is older than the kernel. The kernel's own (in-tree) amdgpu works with ROCm too. Later run "
            "amdgpu-install with --no-dkms.",
        )
        message = "To keep AMD's own driver: install an amdgpu-dkms that supports this kernel, and build it."
        return (remove, msgspec.structs.replace(rebuild, message=f"{message} make.log shows why the build fails."))
    return (
        rebuild,
        Fix(
            "If this release of AMD's driver is older than the kernel: install a newer amdgpu-dkms, boot a kernel "
            "that it supports, or remove it and use the kernel's own (in-tree) amdgpu, which works with ROCm too.",
            (*system.remove(facts, "amdgpu-dkms"), as_root("reboot")),
            "reinstall-package",
            root=True,
            needs="reboot",
            impact="persistent",
            verify=Shell("modinfo -F filename amdgpu; ls -l /dev/kfd", lookup=True),
        ),
    )


@check(
    title="AMD's kernel module was not built for the running kernel",
    severity=Severity.ERROR,
    cause="amdgpu-dkms rebuilds amdgpu for every kernel. Without the kernel headers, or if the kernel is newer than "
    "the driver release supports, the build fails and the kernel falls back to its own (in-tree) amdgpu, or to none.",
    fixes=_fixes,
    references=(
        f"{amd.INSTALL}reference/system-requirements.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/6193",
        "https://github.com/ROCm/legacy-rocm-build/issues/5085",
        "https://github.com/ROCm/legacy-rocm-build/issues/3701",
    ),
    targets=amd_driver,
    caused_by=("rocm.half-installed", "rocm.repository-of-another-release"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def dkms_build_failed(facts: Facts) -> Problem | None:
    """DKMS knows the module but has not built it for this kernel: ADVICE where the kernel's own module works."""
    if in_container(facts):
        return None
    lines = _missing(facts)
    if not lines:
        return None
    fine = works(facts)
    named = "; ".join(f"{d.module}/{d.version}{f', {d.kernel}' if d.kernel else ''}: {d.state}" for d in lines)
    message = f"DKMS has not installed amdgpu for kernel {known(facts.host.kernel.release)} ({named})."
    if fine:
        node = next(iter(known_or(facts.amd.kfd, ())), None)
        opens = ", and /dev/kfd opens" if node and node.error is None else ""
        message += f" The kernel's own (in-tree) amdgpu is loaded instead{opens}."
    return Problem(message, severity=Severity.ADVICE if fine else Severity.ERROR)
