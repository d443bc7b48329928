"""The module is loaded and lists no GPU although the PCI bus shows one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.fixes.stay_on import stay_on
from gpudoctor.maybe import known
from gpudoctor.queries.cards import owned_by
from gpudoctor.queries.cause_groups import DEAD, NODES, OTHER_DRIVERS, SURROUNDINGS, UNFIT, VERSIONS
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, in_container
from gpudoctor.tasks import filtered, query

_UNPLUGGED = (
    "The driver removed the GPU when the laptop's power source changed: with runtime power management the firmware did "
    "not tell it the power mode. The GPU comes back with the next boot."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return (module.on_the_host("On the host: run nvidia-smi; if it lists the GPU, pass it to the container."),)
    if _unplugged(facts):
        message = (
            "Until a newer driver handles it: keep the driver from powering the GPU off, so that it stays when the AC "
            "adapter is unplugged"
        )
        return (stay_on(facts, message),)
    look = Fix(
        "Read the kernel log for the GPU.",
        (filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|nvidia")),),
        impact="none",
    )
    return (look, power_cycle(facts, "Shut down, unplug the power for a minute (power cycle), and start again."))


def _unplugged(facts: Facts) -> tuple[str, ...]:
    """What a laptop's driver logs when the AC adapter was unplugged and it gave the GPU up.

    NVIDIA/open-gpu-kernel-modules#1218.
    """
    return texts(events(facts, "power-source"))


@check(
    title="Driver loaded, but no GPU found (No devices were found)",
    severity=Severity.ERROR,
    cause="The module is loaded, but it could not initialize the card: the wrong flavor of module, a GPU in a bad "
    "state, or no room for its memory windows (BARs). The kernel log has the reason.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1218",
    ),
    targets=not_wsl,
    caused_by=(*DEAD, *OTHER_DRIVERS, *UNFIT, *VERSIONS, *NODES, "device.xid-hardware", *SURROUNDINGS),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_devices(facts: Facts) -> Problem | None:
    """NVML responds and counts no GPU."""
    cards = cards_of(facts, "nvidia")
    if not cards or known(facts.nvidia.kernel.loaded) is None or facts.nvidia.nvml.code != 0:
        return None
    if known(facts.nvidia.nvml.count) != 0 or owned_by(facts, "vfio-pci"):
        return None
    message = f"NVML works but lists no GPU, though PCI shows {len(cards)} ({cards[0].address})."
    if unplugged := _unplugged(facts):
        return Problem(message, unplugged, _UNPLUGGED)
    return Problem(message, texts(events(facts, "rm-init-failed", "probe-failed", "no-device-probed", "gsp-failed")))
