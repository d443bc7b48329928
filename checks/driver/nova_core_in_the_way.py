"""The kernel's new Rust driver nova_core is bound to the GPU although NVIDIA's driver is installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.displaced import reboot_without
from gpudoctor.maybe import present
from gpudoctor.queries.cards import card_name, owned_by
from gpudoctor.queries.cause_groups import BUILD, DEAD
from gpudoctor.queries.driver import module_at_hand
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import nvidia_host
from gpudoctor.tasks import Edit


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Blacklist nova_core (and nova_drm, nouveau), also in the initial RAM disk (initramfs), then reboot."
    lines = "blacklist nova_core\nblacklist nova_drm\nblacklist nouveau\n"
    edit = Edit("/etc/modprobe.d/blacklist-nova.conf", text=lines, root=True)
    return reboot_without(facts, message, "nova_core,nova_drm,nouveau", edit)


@check(
    title="nova_core is bound to the GPU instead of NVIDIA's driver",
    severity=Severity.ERROR,
    cause="A PCI device has one driver at a time. The in-tree driver NovaCore (module nova_core) claims GPUs from "
    "Turing on at boot; blacklisting nouveau alone does not stop it.",
    fixes=_fixes,
    references=("https://docs.kernel.org/gpu/nova/index.html", "https://github.com/beclab/Olares/issues/3963"),
    targets=nvidia_host,
    caused_by=(*DEAD, *BUILD, "driver.refused-by-secure-boot"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def nova_core_in_the_way(facts: Facts) -> Problem | None:
    """The PCI function's driver is NovaCore, and a module of NVIDIA's is installed."""
    bound = owned_by(facts, "NovaCore", "nova_core", "nova")
    if not bound or not module_at_hand(facts):
        return None
    cards = " and ".join(card_name(card) for card in bound[:2])
    message = (
        f"{cards} is bound to {present(bound[0].driver)}, the kernel's open-source driver, so NVIDIA's module cannot "
        "claim it."
    )
    return Problem(message, texts(events(facts, "nova-probe", "already-bound", "no-device-probed")))
