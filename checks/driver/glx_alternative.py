"""Debian's alternative glx is set to Mesa, and with it NVIDIA's files in modprobe.d are gone."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.maybe import known
from gpudoctor.queries.cards import owned_by
from gpudoctor.queries.cause_groups import BUILD, DEAD, UNFIT
from gpudoctor.queries.driver import cuda_fails, module_at_hand
from gpudoctor.targets import nvidia_host
from gpudoctor.tasks import as_root, query

# The package glx-alternative-nvidia gives this alternative slave links, which lie in /etc/modprobe.d: the blacklist of
# nouveau and the modules' usual names (https://salsa.debian.org/nvidia-team/glx-alternatives).
_MESA = "mesa-diverted"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Let the alternative choose NVIDIA's driver again, rebuild the initial RAM disk (initramfs), and reboot."
    return (
        Fix(
            message + system.initramfs_hint(facts),
            (as_root("update-alternatives", "--auto", "glx"), *system.initramfs(facts), as_root("reboot")),
            "reboot",
            root=True,
            needs="reboot",
            undo=(as_root("update-alternatives", "--set", "glx", f"/usr/lib/{_MESA}"),),
            verify=query("update-alternatives", "--query", "glx"),
        ),
    )


@check(
    title="Debian's alternative glx is set to Mesa instead of NVIDIA's driver",
    severity=Severity.ERROR,
    cause="Debian installs NVIDIA's driver beside Mesa, and the alternative glx chooses one of them. Set to Mesa by "
    "hand, it removes NVIDIA's links from /etc/modprobe.d: nouveau is no longer blacklisted, and the names nvidia and "
    "nvidia_uvm, which stand for nvidia-current and nvidia-current-uvm, lead to no module.",
    fixes=_fixes,
    references=(
        "https://wiki.debian.org/NvidiaGraphicsDrivers",
        "https://salsa.debian.org/nvidia-team/glx-alternatives",
    ),
    targets=nvidia_host,
    caused_by=(*DEAD, *BUILD, *UNFIT, "driver.refused-by-secure-boot"),
    affects=("everything",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def glx_alternative(facts: Facts) -> Problem | None:
    """It leads to Mesa's files, NVIDIA's module is installed, and nouveau has the GPU or nvidia-uvm is missing."""
    kernel = facts.nvidia.kernel
    leads = kernel.glx or ""
    if not leads.endswith(_MESA) or not module_at_hand(facts) or "nvidia" in kernel.blacklists:
        return None
    bound, loaded = bool(owned_by(facts, "nouveau")) and "nouveau" not in kernel.blacklists, known(kernel.loaded)
    if not bound and loaded is not None and ("nvidia_uvm" in known(kernel.modules) or not cuda_fails(facts)):
        return None
    effect = (
        "nouveau is not blacklisted and has the GPU"
        if bound
        else "the module names nvidia and nvidia_uvm lead to no file"
    )
    return Problem(f"/etc/alternatives/glx leads to {leads}: {effect}.", (f"/etc/alternatives/glx: {leads}",))
