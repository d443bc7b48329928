"""A GPU's PCIe link is narrower than card and slot allow."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import busy, has_slot, mobile, possible, virtual
from gpudoctor.targets import OnGpu, gpu_key, gpu_name, gpus_of, nvidia_gpus
from gpudoctor.tasks import filtered, query

# With a single other one it is open which of the two stands out.
_FEWEST = 2
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
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
        "https://github.com/dartraiden/NVIDIA-patcher/issues/106",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def narrow_pcie(on: OnGpu) -> Problem | None:
    """Under load the width is final; at idle the driver may lower it: advice, and only where it stands out.

    That is one lane of many, or fewer lanes than all others of the model that rest in the same state.
    """
    if not has_slot(on.facts, on.gpu):
        return None
    now = known(on.gpu.link_width)
    most = possible(on.facts, on.gpu, "link_width_max", known(on.gpu.link_width_max))
    if now is None or most is None or now <= 0 or now >= most:
        return None
    works = busy(on.gpu)
    others = 0 if works else _full_at_rest(on, most)
    if not works and not (now == 1 and most >= 8) and not others:
        return None
    # Half the lanes cost little and are common on boards with two slots.
    mild = not works or now * 2 >= most or virtual(on.facts, on.gpu)
    when = "under load" if works else "at idle; check again under load"
    message = f"The PCIe link of {gpu_name(on.gpu)} has a width of x{now} of x{most} lanes {when}."
    if others:
        message += f" The {others} others of its model are idle as well and have x{most}."
    return Problem(message, severity=Severity.ADVICE if mild else None)


def _full_at_rest(on: OnGpu, most: int) -> int:
    """How many others of the model there are, where all of them rest in the same state with all lanes; else 0.

    A driver that saves power lowers the width of each alike. A laptop's firmware does so as it likes, and a
    hypervisor shows links of its own.
    """
    gpu = on.gpu
    if mobile(on.facts, gpu) or virtual(on.facts, gpu) or not isinstance(gpu.name, str) or _measured(on):
        return 0
    others = [g for g in gpus_of(on.facts, "nvidia") if g.name == gpu.name and g.index != gpu.index]
    state = (gpu.performance_state, gpu.link_generation)
    alike = all((g.performance_state, g.link_generation) == state and g.link_width == most for g in others)
    known_state = all(isinstance(value, int) for value in state)
    return len(others) if len(others) >= _FEWEST and alike and known_state else 0


def _measured(on: OnGpu) -> bool:
    """Whether a smoke test has seen the link under load: smoke.link-trained-down judges that."""
    tests = (test for run in on.facts.smoke.runs if run.gpu == gpu_key(on.gpu) for test in run.tests)
    return any(isinstance(test.during.link_width, int) for test in tests)
