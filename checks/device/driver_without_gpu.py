"""The module is loaded and its GPU has gone from the PCI bus."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.maybe import known
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, gpus_of, switches_of
from gpudoctor.tasks import Edit, query

_LISTED = query("lspci", "-d", "10de:")
_RESCAN = (Edit("/sys/bus/pci/rescan", text="1\n", root=True), query("lspci", "-nn", "-d", "10de:"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "If it is an external GPU, plug it in. Otherwise rescan the bus."
    rescan = Fix(message, _RESCAN, "reload-module", root=True, verify=_LISTED)
    message = "If it stays missing: shut down, disconnect the power, and cold-boot."
    return (rescan, power_cycle(facts, message, _LISTED))


@check(
    title="NVIDIA's module is loaded, but its GPU is gone from the PCI bus",
    severity=Severity.ERROR,
    cause="The module loads only where it finds a GPU, so there was one: it lost power, fell off the bus, was "
    "unplugged, or was removed from the bus.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/",),
    targets=own_kernel,
    caused_by=("device.switched-off", "device.fallen-off-the-bus", "device.removal-waits"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def driver_without_gpu(facts: Facts) -> Problem | None:
    """A loaded module and no card; boards whose GPU is no PCI device do not count."""
    known(facts.pci)
    loaded = known(facts.nvidia.kernel.loaded)
    if loaded is None or cards_of(facts, "nvidia") or gpus_of(facts, "nvidia"):
        return None
    # A virtual machine that runs the fabric manager for others has only the NVSwitches.
    if facts.host.platform == "jetson" or facts.nvidia.cuda.code == 0 or switches_of(facts):
        return None
    message = f"The module {loaded} is loaded, but no NVIDIA GPU is on the PCI bus."
    return Problem(message, texts(events(facts, "fallen-off-bus", "xid")))
