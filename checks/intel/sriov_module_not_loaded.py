"""Virtual functions were asked of a driver that does not make them: the kernel's own, instead of i915-sriov-dkms."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known_or
from gpudoctor.queries.intel import refused_functions
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import cards_of, in_container
from gpudoctor.tasks import as_root, query


def _intel_hosts(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine with an Intel GPU; a container's kernel is its host's."""
    if cards_of(facts, "intel") and not in_container(facts):
        yield MACHINE, facts


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    module, release = refused_functions(facts)[0].what.get("module", "i915"), system.kernel_of(facts)
    family = system.family_of(facts)
    headers = system.install(facts, packages.headers_package(family, release)) if family else ()
    boot = (as_root("proxmox-boot-tool", "refresh"),) if release.endswith("-pve") else ()
    return (
        Fix(
            f"Install the headers of kernel {release}, build the DKMS module for it, and reboot. `dkms status` must "
            "then list it as installed for this kernel.",
            (
                *headers,
                as_root("dkms", "autoinstall", "-k", release),
                query("dkms", "status"),
                *system.initramfs(facts),
                *boot,
                as_root("reboot"),
            ),
            "reinstall-package",
            root=True,
            needs="reboot",
            verify=query("modinfo", "-F", "filename", module),
        ),
    )


@check(
    title="SR-IOV module i915-sriov-dkms is not loaded: max_vfs is ignored",
    severity=Severity.WARNING,
    cause="The parameter max_vfs belongs to the module that DKMS builds. A new kernel without its headers gets no such "
    "build: its own (in-tree) module is loaded, ignores the parameter, and makes no virtual functions (VFs).",
    fixes=_fixes,
    references=(
        "https://github.com/strongtz/i915-sriov-dkms/issues/340",
        "https://github.com/strongtz/i915-sriov-dkms/issues/403",
    ),
    targets=_intel_hosts,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def sriov_module_not_loaded(facts: Facts) -> Problem | None:
    """The kernel's message that the loaded module has no such parameter."""
    logged = refused_functions(facts)
    if not logged:
        return None
    module, release = logged[0].what.get("module", "i915"), system.kernel_of(facts)
    message = (
        f"The loaded {module} has no parameter max_vfs, so it is the in-tree module of kernel {release} and not the "
        "SR-IOV module of DKMS: the GPU has no virtual functions."
    )
    missing = known_or(facts.host.kernel.headers, None) is False
    reason = (f"The headers of kernel {release} are not installed.",) if missing else ()
    return Problem(message, (*texts(logged), *reason))
