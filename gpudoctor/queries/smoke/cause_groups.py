"""Groups of checks that explain what the smoke tests found: what their checks name in `caused_by`."""

from gpudoctor import registry
from gpudoctor.queries.cause_groups import ENVIRONMENT, SYSTEM

# What the hardware itself has reported about its memory.
MEMORY = (
    "device.ecc-uncorrected",
    "device.row-remap-failed",
    "device.row-remap-pending",
    "device.retired-pages-pending",
    "device.xid-hardware",
    "device.fallen-off-the-bus",
    "device.needs-reset",
)
# Wrong numbers, from the bottom up: each makes everything after it wrong too.
WRONG = (
    "smoke.uncorrected-ecc",
    "smoke.corrupted-memory",
    "smoke.corrupted-copy",
    "smoke.wrong-result",
    "smoke.not-reproducible",
    "smoke.unstable-product",
    "smoke.tf32-in-force",
    "smoke.wrong-order",
    "smoke.wrong-training",
    "smoke.wrong-mixed-precision",
    "smoke.wrong-inference",
    "smoke.fused-wrong",
)
FRAMEWORKS = tuple(f"{one.area}.*" for one in registry.FRAMEWORKS if one in registry.SMOKED)
# Why a backend does not run at all.
NOT_RUNNING = (*SYSTEM, *ENVIRONMENT, *FRAMEWORKS, "health.stuck-process")
# Why a GPU computes slowly.
SLOW = (
    "smoke.busy",
    "smoke.throttled",
    "health.overheated",
    "health.power-brake",
    "health.power-capped",
    "device.needs-reset",
)
LINK = ("smoke.busy", "link.narrow-pcie", "link.slow-pcie", "smoke.link-trained-down", "smoke.pcie-replays")


def wrong_before(id_: str) -> tuple[str, ...]:
    """What explains a wrong number: the hardware's own reports, and wrong numbers further down."""
    return (*MEMORY, *WRONG[: WRONG.index(id_)])
