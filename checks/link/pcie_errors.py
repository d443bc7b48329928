"""Packets between a GPU and the board are corrupted, many times."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.knowledge.pcie import link_limits
from gpudoctor.maybe import Maybe, Unknown, known, known_or, present
from gpudoctor.queries.gpus import has_slot
from gpudoctor.targets import OnGpu, cards_of, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

# Fewer occur while a link is trained, and prove nothing over a short time.
_LEAST = 1000


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    seat = Fix(
        "Shut down, reseat the card, remove any riser or extension cable (or use one made for that generation), and "
        "update the board's firmware (BIOS).",
        (),
        "replace-hardware",
        needs="reboot",
        verify=query("nvidia-smi", "--query-gpu=index,pcie.link.gen.current,pcie.link.width.current", "--format=csv"),
    )
    slower = Fix(
        "Set the slot one PCIe generation lower in the firmware setup (BIOS): a slower link without errors is "
        "better than a fast one that keeps retransmitting.",
        (),
        "reboot",
        needs="reboot",
        impact="persistent",
    )
    look = Fix(
        "Check whether the counters still grow, preferably while data is copied.",
        (query("grep", "-H", ".", f"/sys/bus/pci/devices/{present(on.gpu.address)}/aer_dev_correctable"),),
        impact="none",
    )
    return seat, slower, look


@check(
    title="PCIe link errors: packets are retransmitted",
    severity=Severity.WARNING,
    cause="Packets arrive corrupted and are sent again, or the receiver reports signal errors. Only time is lost, "
    "until the link falls back to a lower speed or the GPU falls off the bus. A riser, a contact or a worn slot is "
    "the usual cause.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/dcgm/latest/reference/error-thresholds.html",
        "https://docs.kernel.org/PCI/pcieaer-howto.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def pcie_errors(on: OnGpu) -> Problem | None:
    """More per minute than NVIDIA considers healthy, averaged since boot; corrected alone they are advice."""
    if not has_slot(on.facts, on.gpu):
        return None
    replays, errors = on.gpu.pcie_replays, _errors(on)
    if isinstance(replays, Unknown) and not isinstance(errors, tuple):
        known(replays)
    again, counted = known_or(replays, None) or 0, sum(number for _, number in known_or(errors, None) or ())
    most = max(again, counted)
    if most < _LEAST:
        return None
    minutes = max(known(on.facts.host.uptime) / 60, 1.0)
    if most / minutes <= link_limits().replays_a_minute:
        return None
    what = "packets were sent again over" if again >= counted else "errors were corrected on"
    message = f"{most} {what} the PCIe link of {gpu_name(on.gpu)}, {most / minutes:.0f} per minute since boot."
    often = again / minutes > link_limits().replays_a_minute
    return Problem(message, _evidence(replays, errors), severity=None if often else Severity.ADVICE)


def _errors(on: OnGpu) -> Maybe[tuple[tuple[str, int], ...] | None]:
    """What the kernel counted at both ends of the link; None: it counts nothing, or shows no such card."""
    return next((c.link_errors for c in cards_of(on.facts, "nvidia") if c.address == on.gpu.address), None)


def _evidence(replays: object, errors: object) -> tuple[str, ...]:
    lines = [f"NVML's replay counter: {replays}"] if isinstance(replays, int) else []
    if isinstance(errors, tuple) and errors:
        lines.append("corrected at both ends: " + ", ".join(f"{kind} {number}" for kind, number in errors))
    return tuple(lines)
