"""A GPU's PCIe link runs at a lower generation than card and slot allow, under load."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.knowledge.pcie import generations
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import busy, has_slot, possible, virtual
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import filtered, query

_FIXES = (
    Fix(
        "Set the slot's PCIe generation to Auto in the firmware setup (BIOS); remove any riser or use one made for "
        "that generation; reseat the card.",
        (),
        "replace-hardware",
        needs="reboot",
        verify=query("nvidia-smi", "--query-gpu=index,pstate,pcie.link.gen.current,pcie.link.gen.max", "--format=csv"),
    ),
    Fix(
        "Look for PCI Express errors in the kernel log.",
        (filtered(query("dmesg", root=True), query("grep", "-iE", "AER|pcie")),),
        root=True,
        impact="none",
    ),
)


@check(
    title="PCIe link slower under load than card and slot allow",
    severity=Severity.WARNING,
    cause="At idle the driver lowers the link's generation to save power; under load it goes up. This one stays low: "
    "the firmware limits the slot, or the link fell back after errors (riser, contact).",
    fixes=_FIXES,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset", "link.narrow-pcie"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def slow_pcie(on: OnGpu) -> Problem | None:
    """Checked only under load: an idle GPU at generation 1 is healthy."""
    if not has_slot(on.facts, on.gpu):
        return None
    now = known(on.gpu.link_generation)
    most = possible(on.facts, on.gpu, "link_generation_max", known(on.gpu.link_generation_max))
    if now is None or most is None or now <= 0 or now >= most or not busy(on.gpu):
        return None
    rates = generations()
    speed = f"{rates[now].gigatransfers:g} of {rates[most].gigatransfers:g} GT/s" if {now, most} <= set(rates) else ""
    message = (
        f"The PCIe link of {gpu_name(on.gpu)} stays at generation {now} of {most} under "
        f"load{f' ({speed})' if speed else ''}."
    )
    # One generation down halves the rate, which few programs notice.
    mild = most - now == 1 or virtual(on.facts, on.gpu)
    return Problem(message, severity=Severity.ADVICE if mild else None)
