"""DKMS stops at an entry whose source is gone, and builds nothing after it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Dkms, Facts
from gpudoctor.fixes import module, system
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import own_kernel
from gpudoctor.targets import cards_of
from gpudoctor.tasks import as_root, query


def _stale(facts: Facts) -> tuple[Dkms, ...]:
    return tuple(e for e in known(facts.nvidia.kernel.dkms) or () if e.state == "broken")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    gone = tuple(as_root("rm", "-r", f"/var/lib/dkms/{e.module}/{e.version}") for e in _stale(facts))
    again = system.reinstall(facts, *module.module_packages(facts)) if module.module_packages(facts) else ()
    message = "Remove the stale entry from DKMS's tree, then build the installed driver's module."
    commands = (
        *gone,
        *again,
        as_root("dkms", "autoinstall", "-k", system.kernel_of(facts)),
        as_root("modprobe", "nvidia"),
    )
    return (
        Fix(message, commands, "reinstall-package", root=True, impact="persistent", verify=query("dkms", "status")),
    )


@check(
    title="A stale DKMS entry blocks the build of NVIDIA's module",
    severity=Severity.ERROR,
    cause="DKMS still lists a version whose source directory was deleted (Could not locate dkms.conf file); it stops "
    "there when it builds for a new kernel.",
    fixes=_fixes,
    references=("https://github.com/dell/dkms",),
    targets=own_kernel,
    caused_by=(*DEAD, "driver.vfio-in-the-way"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def dkms_entry_stale(facts: Facts) -> Problem | None:
    """A broken entry, and no module for the running kernel."""
    kernel = facts.nvidia.kernel
    if not cards_of(facts, "nvidia") or known(kernel.loaded) is not None or known(kernel.on_disk):
        return None
    stale = _stale(facts)
    if not stale:
        return None
    names = " and ".join(f"{e.module}/{e.version}" for e in stale)
    message = f"DKMS lists {names}, whose source is gone, and there is no module for kernel {system.kernel_of(facts)}."
    return Problem(message, tuple(f"dkms: {e.module}/{e.version}: {e.state}" for e in stale))
