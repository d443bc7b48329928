"""NVIDIA's driver was asked to release a GPU that programs still have open, and waits for them."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.module import on_the_host
from gpudoctor.maybe import known
from gpudoctor.queries.cards import USERS, OnAddress, nvidia_addresses
from gpudoctor.queries.driver import branch, module_version
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, filtered, query

# From this branch on nothing ends the wait: NVIDIA/open-gpu-kernel-modules#1119 and #1374.
_NEVER_ENDS = 595
_DONE = filtered(query("dmesg", root=True), query("grep", "Continuing with GPU removal"))


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if in_container(on.facts):
        return (on_the_host("On the host: end what has the GPU open, or reboot."),)
    end = Fix(
        "End what has the GPU open (a display manager, nvidia-persistenced, DCGM, a device plugin, containers): then "
        "the driver lets it go.",
        (USERS, as_root("systemctl", "stop", "nvidia-persistenced")),
        "restart-process",
        root=True,
        undo=(as_root("systemctl", "start", "nvidia-persistenced"),),
        verify=_DONE,
    )
    reboot = Fix(
        "Reboot. If the reboot hangs, too: switch the machine off.",
        (as_root("reboot"),),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )
    message = (
        "Before the GPU is handed to a virtual machine, removed or unplugged the next time: end what has it open "
        "first. One that is always a virtual machine's is better bound to vfio-pci at boot."
    )
    first = Fix(message, (USERS,), impact="none", root=True, verify=_DONE, later=True)
    hopeless = (branch(module_version(on.facts)) or 0) >= _NEVER_ENDS
    return (reboot, first) if hopeless else (end, reboot, first)


@check(
    title="NVIDIA's driver waits to release a GPU that programs have open",
    severity=Severity.ERROR,
    cause="Something took the GPU from the driver (a hand-over to vfio-pci, a removal from the bus, a laptop's "
    "firmware or hot-plug port) while programs had it open. The driver accepts no new programs on it and waits for the "
    "old ones; the command that started this hangs, and so may nvidia-smi, modprobe and a shutdown.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1374",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1119",
        "https://github.com/kubevirt/kubevirt/issues/8549",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=removal-waits",),
    caused_by=("device.fallen-off-the-bus", "device.gsp-failed", "device.needs-reset", "host.gpu-driver-oops"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def removal_waits(on: OnAddress) -> Problem | None:
    """The driver began to remove the GPU and has not gone on since; what works again was given back."""
    known(on.facts.log.events)
    logged = on.events("removal-waits", "removal-goes-on")
    if not logged or logged[-1].kind != "removal-waits" or on.answers:
        return None
    where = "" if on.card is not None else " It is gone from the PCI bus."
    message = (
        f"NVIDIA's driver was asked to release {on.name[0].lower()}{on.name[1:]}{ago(on.facts, logged[-1])}, and "
        f"waits: programs still have it open.{where}"
    )
    return Problem(message, texts(logged[-1:]))
