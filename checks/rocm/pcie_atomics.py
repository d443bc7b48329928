"""KFD skips a GPU because the PCIe path to it does not support atomics."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import amd
from gpudoctor.maybe import known
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import filtered, query


def _refusals(facts: Facts) -> list[LogEvent]:
    return [event for event in known(facts.log.events) if event.kind == "amdgpu-atomics"]


_HARDWARE = (
    Fix(
        "Move the card to a CPU-attached slot, without a riser; chipset slots often lack atomics.",
        (filtered(query("lspci", "-vvv", root=True), query("grep", "-iE", "VGA|Display|AtomicOpsCap|Root Port")),),
        "replace-hardware",
        root=True,
        verify=amd.PROOF,
    ),
    Fix(
        "On a board or CPU without PCIe 3.0 atomics no software helps: use another board, or a GPU from Vega (gfx9) "
        "on, which with most firmware works without them.",
        action="replace-hardware",
    ),
)


def _device(event: LogEvent) -> str | None:
    """The card's device id; one of digits alone was read as a number."""
    return event.what.get("code") or (f"{event.code:04d}" if event.code is not None else None)


def _newer_firmware(event: LogEvent) -> bool:
    """The message names two firmware versions: the one that is loaded and the first that needs no atomics."""
    found = re.search(r"[0-9]<([0-9]{1,18})", event.text)
    return found is not None and int(found[1]) > 0


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if not any(map(_newer_firmware, _refusals(facts))):
        return _HARDWARE
    return (
        amd.newer_firmware(
            facts, "Install newer firmware: from the version in the log on, this card needs no atomics."
        ),
        *_HARDWARE,
    )


@check(
    title="PCI rejects atomics: KFD needs them for this GPU",
    severity=Severity.ERROR,
    cause="Before Vega (gfx9), and with some firmware after it, ROCm needs PCIe 3.0 atomic operations on the whole "
    "path from the CPU to the GPU. Old boards, chipset slots, risers and some PCIe switches do not support them, and "
    "KFD then skips the GPU, although the display works.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/en/latest/conceptual/pcie-atomics.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/1214",
        "https://github.com/ROCm/amdgpu/issues/151",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def pcie_atomics(facts: Facts) -> Problem | None:
    """The kernel log reports it for a GPU."""
    refusals = _refusals(facts)
    if not refusals:
        return None
    devices = ", ".join(sorted({f"1002:{code}" for event in refusals if (code := _device(event))})) or "GPU"
    message = f"KFD skips the GPU {devices}, because the path to it rejects PCIe atomics."
    return Problem(message, tuple(event.text for event in refusals[:3]))
