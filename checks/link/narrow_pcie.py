"""A GPU's PCIe link is narrower than card and slot allow."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import busy, has_slot, possible, virtual
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import filtered, query

_FIXES = (
    Fix(
        "Shut down, reseat the card (or move it to a full-width slot), clean its contacts, remove any riser, and "
        "check the slot's lanes (bifurcation) in the firmware setup (BIOS).",
        (),
        "replace-hardware",
        needs="reboot",
        verify=query("nvidia-smi", "--query-gpu=index,pcie.link.width.current,pcie.link.width.max", "--format=csv"),
    ),
    Fix(
        "Look for PCI Express errors in the kernel log.",
        (filtered(query("dmesg", root=True), query("grep", "-iE", "AER|pcie")),),
        root=True,
        impact="none",
    ),
)


@check(
    title="PCIe link narrower than card and slot allow",
    severity=Severity.WARNING,
    cause="The link trained with fewer lanes (width) than both sides have: the card is not fully seated, a riser or a "
    "contact is bad, the slot shares its lanes, or the card has fewer lanes wired. Transfers are slow.",
    fixes=_FIXES,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
        "https://github.com/dartraiden/NVIDIA-patcher/issues/106",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def narrow_pcie(on: OnGpu) -> Problem | None:
    """Under load the width is final; at idle the driver may lower it, so there one lane of many is only advice."""
    if not has_slot(on.facts, on.gpu):
        return None
    now = known(on.gpu.link_width)
    most = possible(on.facts, on.gpu, "link_width_max", known(on.gpu.link_width_max))
    if now is None or most is None or now <= 0 or now >= most:
        return None
    works = busy(on.gpu)
    if not works and not (now == 1 and most >= 8):
        return None
    # Half the lanes cost little and are common on boards with two slots.
    mild = not works or now * 2 >= most or virtual(on.facts, on.gpu)
    when = "under load" if works else "at idle; check again under load"
    message = f"The PCIe link of {gpu_name(on.gpu)} has a width of x{now} of x{most} lanes {when}."
    return Problem(message, severity=Severity.ADVICE if mild else None)
