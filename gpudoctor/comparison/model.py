"""A comparison as data: rows in the order in which they matter."""

from enum import Enum

import msgspec

from gpudoctor.comparison.labels import label


class DifferenceGroup(Enum):
    """How much a difference matters, in this order."""

    FINDINGS = "findings"
    MACHINE = "machine"
    DRIVER = "driver"
    FIRMWARE = "firmware"
    VERSIONS = "versions"
    GPUS = "gpus"
    SETTINGS = "settings"
    ENVIRONMENT = "environment"
    MEASURED = "measured"
    REST = "rest"


TITLES = {
    DifferenceGroup.FINDINGS: "Problems",
    DifferenceGroup.MACHINE: "Machine and GPU models",
    DifferenceGroup.DRIVER: "Driver and kernel",
    DifferenceGroup.FIRMWARE: "Firmware",
    DifferenceGroup.VERSIONS: "CUDA, cuDNN and frameworks",
    DifferenceGroup.GPUS: "GPUs, links and memory",
    DifferenceGroup.SETTINGS: "Clocks, ECC and settings",
    DifferenceGroup.ENVIRONMENT: "Environment variables",
    DifferenceGroup.MEASURED: "Measured",
    DifferenceGroup.REST: "Everything else",
}
ORDER = {group: number for number, group in enumerate(DifferenceGroup)}


class DifferenceState(Enum):
    """How the two sides stand to each other."""

    DIFFERS = "differs"
    ONLY_HERE = "only in A"
    ONLY_THERE = "only in B"
    UNKNOWN_HERE = "unknown in A"  # no difference: nobody could say
    UNKNOWN_THERE = "unknown in B"

    @property
    def unknown(self) -> bool:
        """Whether one side does not know."""
        return self in (DifferenceState.UNKNOWN_HERE, DifferenceState.UNKNOWN_THERE)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
        path: where it lies in the tree of facts; "gpus.3.link_width".
        group: how much it matters.
        state: how the sides stand to each other.
        here, there: the whole values as text; empty: that side has no such thing.
        change: of numbers: how much more there is than here, relative to here; None: no numbers, or here is 0.
    """

    path: str
    group: DifferenceGroup
    state: DifferenceState = DifferenceState.DIFFERS
    here: str = ""
    there: str = ""
    change: float | None = None

    @property
    def label(self) -> str:
        """The path in words, as far as it has some."""
        return label(self.path)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two machines beside each other.

    Attributes:
        here, there: what they are called.
        rows: what matters first; within a group real differences before what one side does not know.
        whole: both sides brought their facts; else only what a report tells could be compared.
    """

    here: str
    there: str
    rows: tuple[Difference, ...] = ()
    whole: bool = True

    @property
    def matters(self) -> tuple[Difference, ...]:
        """The real differences that matter."""
        return tuple(row for row in self.rows if row.group is not DifferenceGroup.REST and not row.state.unknown)
