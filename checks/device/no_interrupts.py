"""No interrupt of the GPU reaches the driver."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import module
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, filtered, query


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if in_container(on.facts):
        return (
            module.on_the_host(
                "On the host: the kernel log has the reason.",
                filtered(query("dmesg", root=True), query("grep", "NVRM")),
            ),
        )
    look = Fix(
        "Check whether MSI is disabled, on the kernel command line (pci=nomsi) or by a module option.",
        (
            query("cat", "/proc/cmdline"),
            query("grep", "-r", "NVreg_EnableMSI", "/etc/modprobe.d/"),
            query("grep", "nvidia", "/proc/interrupts"),
        ),
        impact="none",
    )
    host = hypervisor(on.facts)
    where = f"the hypervisor's ({host}) settings for PCI passthrough" if host else "the firmware setup (BIOS)"
    board = Fix(
        f"Remove pci=nomsi and the option and reboot; otherwise check {where}, update the firmware, and disconnect "
        "the power for a minute.",
        (as_root("reboot"),),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )
    return (look, board)


@check(
    title="GPU interrupts do not reach the driver",
    severity=Severity.ERROR,
    cause="The driver tests at start whether the GPU's interrupts reach the CPU. If MSI is disabled, the firmware or "
    "hypervisor routes none, or the GPU is in a bad state, the test fails and the driver gives up on the GPU.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/PCI/msi-howto.html",
        "https://github.com/NVIDIA/gpu-operator/issues/649",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=no-interrupts,rm-init-failed",),
    caused_by=("device.fallen-off-the-bus", "device.gsp-failed"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def no_interrupts(on: OnAddress) -> Problem | None:
    """The driver's own message, or its status 0x45, about a GPU that does not respond."""
    if on.answers:
        return None
    logged = (*on.events("no-interrupts"), *filter(_silent, on.events("rm-init-failed")))
    if not logged:
        return None
    return Problem(f"No interrupt of {_small(on.name)} reaches the driver, so it cannot use it.", texts(logged))


def _silent(event: LogEvent) -> bool:
    return failure(event.what.get("code", "")).kind == "interrupts"


def _small(name: str) -> str:
    return name.replace("The GPU", "the GPU", 1)
