"""A card of an Instinct node is not in the XGMI hive of the others."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import WHOLE_HIVES, all_boards
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import Shell, as_root, filtered, query


@check(
    title="Instinct GPU missing from the XGMI hive",
    severity=Severity.WARNING,
    cause="XGMI links join all cards of an MI300 or MI350 node into one group, the hive. A card outside it exchanges "
    "data with the others over PCIe or not at all: its links did not train, or a reset left it out.",
    fixes=(
        Fix(
            "Power-cycle the node (including the GPU baseboard), so that all links retrain.",
            (as_root("poweroff"),),
            "power-cycle",
            root=True,
            needs="reboot",
            verify=Shell("amd-smi xgmi; cat /sys/bus/pci/devices/*/xgmi_hive_info/xgmi_hive_id", lookup=True),
        ),
        Fix(
            "If the problem persists: send the server vendor the state of the links.",
            (query("amd-smi", "xgmi"), filtered(query("dmesg", root=True), query("grep", "-i", "xgmi"))),
            "ask-vendor",
            root=True,
            impact="none",
        ),
    ),
    references=(
        "https://docs.kernel.org/gpu/amdgpu/xgmi.html",
        "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/conceptual/iommu.html",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-driven", "rocm.reset-failed"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def hive_split(facts: Facts) -> Problem | None:
    """Some cards of one model are in the largest hive and others are not; if none is in any, the design has no hive."""
    found: dict[str, dict[str, str | None]] = {}
    for on in all_boards(facts):
        if on.board is not None and on.gfx in WHOLE_HIVES and on.card.integrated is not True:
            found.setdefault(on.card.device, {})[on.address] = known(on.board.hive)
    for hives in found.values():
        named = [hive for hive in hives.values() if hive]
        largest = max(named, key=named.count, default=None)
        outside = [address for address, hive in hives.items() if hive != largest]
        if largest is None or not outside or named.count(largest) < 2:
            continue
        verb = "is" if len(outside) == 1 else "are"
        message = (
            f"{len(outside)} of {len(hives)} cards {verb} outside the XGMI hive of the others: {', '.join(outside)}."
        )
        return Problem(message, tuple(f"{address}: hive {hive or 'none'}" for address, hive in hives.items()))
    return None
