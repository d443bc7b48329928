"""The kernel log has errors of a GPU's driver that no other check explains."""

from collections.abc import Callable, Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import no_other_vendor
from gpudoctor.queries.intel import concerned as wants_intel
from gpudoctor.queries.kernel_log import ago, events, of_this_week, texts
from gpudoctor.targets import amd_compute, cards_of, in_container, wants_nvidia
from gpudoctor.tasks import filtered, query


def _wants_amd(facts: Facts) -> bool:
    return no_other_vendor(facts) or any(amd_compute(facts))


_VENDORS: dict[str, Callable[[Facts], bool]] = {
    "nvidia": wants_nvidia,
    "amd": _wants_amd,
    "intel": wants_intel,
}
# By the module that wrote the line; the log's other lines name a GPU, or are about none.
_WRITERS = {"NVRM": "nvidia", "nvidia": "nvidia", "nouveau": "nvidia", "amdgpu": "amd", "kfd": "amd"}
_MOST = 6
_LOOK = filtered(
    query("dmesg", "--level=emerg,alert,crit,err,warn", root=True),
    query("grep", "-E", "NVRM|nvidia|amdgpu|kfd|i915|xe |AER|DMAR|AMD-Vi"),
    query("tail", "-n", "50"),
)


def _computing(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where a GPU is there, or wanted, for computing."""
    if any(wanted(facts) for wanted in _VENDORS.values()):
        yield MACHINE, facts


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    where = "On the host, look" if in_container(facts) else "Look"
    search = (
        f"{where} at what the log has just before these lines, and search for their text without the numbers. If "
        "programs fail on the GPU, or the lines come again after a reboot, report them with the versions of driver "
        "and kernel."
    )
    return (Fix(search, (_LOOK,), impact="none", place="outside" if in_container(facts) else "here"),)


@check(
    title="Unexplained errors of a GPU driver in the kernel log",
    severity=Severity.WARNING,
    cause="The driver, the IOMMU or PCI Express reported an error about a GPU since the last boot. No known problem "
    "explains it, and it is not among the messages that are known to be harmless.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/",
        "https://docs.kernel.org/gpu/amdgpu/debugging.html",
        "https://docs.kernel.org/PCI/pcieaer-howto.html",
    ),
    targets=_computing,
    only_with=("targets:nvidia_machine targets:amd_compute pci.vendor=1002 queries.intel:intel_machine",),
    # What these checks report is in the log in the driver's words too, and in more lines than they quote.
    caused_by=(
        "device.xid-driver",
        "device.xid-hardware",
        "device.needs-reset",
        "device.fallen-off-the-bus",
        "device.program-faults",
        "device.faults-on-one-card",
        "device.nvlink-fault",
        "device.gsp-failed",
        "device.ecc-uncorrected",
        "device.row-remap-pending",
        "device.row-remap-failed",
        "device.retired-pages-pending",
        "device.vgpu-host-mismatch",
        "device.bar-unassigned",
        "device.iommu-faults",
        "device.none",
        "device.driver-without-gpu",
        "driver.nouveau-in-the-way",
        "driver.uvm-stale",
        "driver.suspend-refused",
        "driver.hmm-without-room",
        "host.gpu-driver-oops",
        "host.out-of-memory-kills",
        "health.memory-held",
        "link.pcie-errors",
        "rocm.hangs",
        "rocm.page-faults",
        "rocm.reset-failed",
        "rocm.uncorrectable-errors",
        "rocm.bad-pages",
        "rocm.iommu-translates",
        "rocm.small-bar",
        "intel.firmware-missing",
        "intel.hangs",
        "device.*",
        "driver.*",
        "fabric.*",
        "rocm.*",
        "intel.*",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def unexplained_log_errors(facts: Facts) -> Problem | None:
    """Errors of the drivers of GPUs for computing, and of the IOMMU and the PCIe ports about these GPUs."""
    known(facts.log.events)
    logged = of_this_week(facts, (*_of_drivers(facts), *_of_buses(facts)))
    if not logged:
        return None
    count = "an error" if len(logged) == 1 else f"{len(logged)} errors"
    message = f"The kernel log has {count} of GPU drivers{ago(facts, logged[-1])}."
    return Problem(message, texts(logged, _MOST))


def _of_drivers(facts: Facts) -> Iterator[LogEvent]:
    """Of drivers whose GPUs are for computing; an integrated GPU next to others is for the display."""
    for event in events(facts, "driver-error"):
        vendor = _WRITERS.get(event.what.get("module", ""), "intel")
        cards = cards_of(facts, vendor)
        one = next((card for card in cards if card.address == event.gpu), None)
        for_display = one is not None and one.integrated is True and any(c.integrated is False for c in cards)
        lent = one is not None and one.driver == "vfio-pci"
        if _VENDORS[vendor](facts) and not for_display and not lent:
            yield event


def _of_buses(facts: Facts) -> Iterator[LogEvent]:
    """What a GPU may not access, and errors of its link that were not corrected."""
    for vendor, wanted in _VENDORS.items():
        for card in cards_of(facts, vendor) if wanted(facts) else ():
            if card.integrated is True or card.driver == "vfio-pci":
                continue
            path = (card.address, *(card.ports if isinstance(card.ports, tuple) else ()))
            yield from (e for e in events(facts, "iommu-fault") if e.gpu == card.address)
            yield from (
                e for e in events(facts, "aer") if e.gpu in path and e.what.get("text", "").startswith("Uncorrect")
            )
