"""The open-source driver nouveau is bound to the GPU although NVIDIA's driver is installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.displaced import boot_is_full, reboot_without
from gpudoctor.maybe import present
from gpudoctor.queries.cards import any_works, card_name, owned_by
from gpudoctor.queries.cause_groups import BUILD, DEAD, UNFIT
from gpudoctor.queries.driver import first_module, module_at_hand
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import nvidia_host
from gpudoctor.tasks import Edit, as_root

_MODULES = "nouveau,nova_core"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    hint = system.initramfs_hint(facts)
    if "nouveau" in facts.nvidia.kernel.blacklists:  # the copy of modprobe.d in the initial RAM disk is older
        if paths := tuple(dict.fromkeys(line.path for line in facts.nvidia.kernel.nouveau_lines)):
            where = " and ".join(paths)
            message = f"Delete nouveau from {where}, rebuild the initial RAM disk (initramfs), and reboot.{hint}"
            drop = (as_root("sed", "-i.bak", r"/^\s*nouveau\b/d", path) for path in paths)
            return reboot_without(facts, message, _MODULES, first=tuple(drop))
        if _since_boot(facts):
            message = (
                "Reboot: NVIDIA's driver, which blacklists nouveau, was installed after this boot. Rebuilding the "
                f"initial RAM disk (initramfs) first makes sure that it contains the blacklist.{hint}"
            )
            return reboot_without(facts, message, _MODULES)
        message = (
            f"Rebuild the initial RAM disk (initramfs), so that it contains the blacklist, then reboot.{hint} If "
            "nouveau is still loaded first, something else loads it: add modprobe.blacklist=nouveau to the kernel "
            "command line."
        )
        return reboot_without(facts, message, _MODULES)
    message = f"Blacklist nouveau, also in the initial RAM disk (initramfs), then reboot.{hint}"
    lines = "blacklist nouveau\noptions nouveau modeset=0\n"
    edit = Edit("/etc/modprobe.d/blacklist-nouveau.conf", text=lines, root=True)
    return reboot_without(facts, message, _MODULES, edit)


@check(
    title="nouveau is bound to the GPU instead of NVIDIA's driver",
    severity=Severity.ERROR,
    cause="A PCI device has one driver at a time. nouveau, which was loaded first at boot, cannot run CUDA, and "
    "nvidia finds no free device.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        "https://github.com/negativo17/nvidia-driver/issues/73",
    ),
    targets=nvidia_host,
    caused_by=(*DEAD, *BUILD, *UNFIT, "driver.refused-by-secure-boot", "driver.glx-alternative"),
    affects=("everything",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def nouveau_in_the_way(facts: Facts) -> Problem | None:
    """The PCI function's driver is nouveau, and a module of NVIDIA's is installed."""
    bound = owned_by(facts, "nouveau")
    if not bound or not module_at_hand(facts) or _fell_back(facts):
        return None
    cards = " and ".join(card_name(card) for card in bound[:2])
    message = (
        f"{cards} is bound to {present(bound[0].driver)}, the kernel's open-source driver, so NVIDIA's module cannot "
        "claim it."
    )
    why = None
    if "nouveau" in facts.nvidia.kernel.blacklists:
        by_name = facts.nvidia.kernel.nouveau_lines
        late = _since_boot(facts) and not by_name
        message += " It was bound before the driver that blacklists it was installed." if late else ""
        message += "" if late else " It is blacklisted, but was loaded anyway."
        message += f" {by_name[0].path} has it loaded by its name at each boot." if by_name else ""
        message += " /boot has no room for a new initial RAM disk." if boot_is_full(facts) else ""
        why = (
            "NVIDIA's driver blacklists nouveau, but was installed after this boot: nouveau keeps the GPU until the "
            "next one."
            if late
            else "A blacklist keeps a module from being loaded for a device that it knows, not by its name."
            if by_name
            else "modprobe.d blacklists nouveau. Either the machine was not rebooted since, or the initial RAM disk "
            "(initramfs) is older and has a copy without that line: nouveau is loaded from it before the root file "
            "system is mounted."
        )
    # Next to a GPU that computes: usually an old card for the displays, which NVIDIA's driver no longer supports.
    severity = Severity.ADVICE if any_works(facts) else None
    return Problem(message, texts(events(facts, "nouveau-init", "already-bound", "probe-not-called")), why, severity)


def _since_boot(facts: Facts) -> bool:
    """Whether the module that would be loaded is known to have been installed after the machine was started."""
    found, up = first_module(facts), facts.host.uptime
    return found is not None and isinstance(found.age, float | int) and isinstance(up, float | int) and found.age < up


def _fell_back(facts: Facts) -> bool:
    """Whether nouveau was loaded because the kernel had rejected NVIDIA's module: it is blacklisted until then.

    RPM Fusion's nvidia-fallback.service does so (https://rpmfusion.org/Howto/NVIDIA).
    """
    rejected = events(facts, "module-rejected") and facts.host.kernel.secure_boot is not False
    return bool(rejected) and "nouveau" in facts.nvidia.kernel.blacklists
