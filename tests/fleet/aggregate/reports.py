"""Reports of nodes that nobody has, and the folders that they lie in."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from gpudoctor.fleet.aggregate.inputs import Sent
from gpudoctor.fleet.aggregate.streaming import summed
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.inventory import Inventory, Scalar
from gpudoctor.report.model import FigureEntry, FindingEntry, FixEntry, GpuEntry, Report, SmokeEntry, SmokeTestEntry

H100 = "NVIDIA H100 80GB HBM3"
GIB = 1 << 30
PYTHON = "/opt/train/bin/python"
MACHINE: dict[str, Scalar] = {
    "host.architecture": "x86_64",
    "host.platform": "bare",
    "host.product": "Acme 8000",
    "host.memory": 2000 * GIB,
    "nvidia.kernel.loaded": "580.95.05",
    "nvidia.nvml.driver_version": "580.95.05",
    "gpus": 8,
}
GPU: dict[str, Scalar] = {"name": H100, "vbios": "96.00", "memory": 80 * GIB, "link_width": 16}
PACKAGES = {"torch": "2.9.1", "numpy": "2.3.5"}


def gpus(number: int = 8, odd: Mapping[str, Scalar] | None = None, **other: Scalar) -> tuple[dict[str, Scalar], ...]:
    """So many GPUs; `odd` is what the last one has otherwise, `other` what all have otherwise."""
    found = [{**GPU, **other} for _ in range(number)]
    if odd:
        found[-1] |= odd
    return tuple(found)


def report(
    *,
    status: str = "pass",
    created: str = "2026-11-21T00:00:00Z",
    machine: Mapping[str, Scalar] | None = None,
    listed: tuple[dict[str, Scalar], ...] | None = None,
    packages: Mapping[str, Mapping[str, str]] | None = None,
    findings: Iterable[FindingEntry] = (),
    smoke: Iterable[SmokeEntry] = (),
    shown: Iterable[GpuEntry] = (),
) -> Report:
    """The report of a node with eight GPUs, but for what is given."""
    listed = gpus() if listed is None else listed
    inventory = Inventory(
        machine={**MACHINE, "gpus": len(listed), **(machine or {})},
        gpus=listed,
        packages={path: dict(one) for path, one in (packages or {PYTHON: PACKAGES}).items()},
    )
    return Report(
        status=status, created=created, gpus=tuple(shown), findings=tuple(findings), smoke=tuple(smoke),
        inventory=inventory,
    )  # fmt: skip


def finding(
    check: str = "link.narrow-pcie", status: str = "warn", subject: str = "GPU 0", cause: str = "A bad slot.",
    fix: str = "Reseat GPU 0.",
) -> FindingEntry:  # fmt: skip
    """A root cause."""
    return FindingEntry(
        check=check, status=status, subject=subject, title=f"Title of {check}", message=f"{subject} is ill.",
        cause=cause, evidence=(f"seen on {subject}",), fixes=(FixEntry(fix),), references=("https://example.org/",),
    )  # fmt: skip


def measured(*values: float, unit: str = "GB/s", name: str = "rate", busy: bool = False) -> tuple[SmokeEntry, ...]:
    """One figure of each GPU."""
    return tuple(
        SmokeEntry(
            backend="pytorch", device=f"GPU {at}", kind="cuda", python=PYTHON, outcome="done", busy=busy,
            tests=(
                SmokeTestEntry(
                    test="transfer", variant="pinned", outcome="done",
                    figures=(FigureEntry(name=name, value=value, unit=unit),),
                ),
            ),
        )
        for at, value in enumerate(values)
    )  # fmt: skip


class Given:
    """Reports that lie nowhere."""

    def __init__(self, reports: Mapping[str, Report | bytes]) -> None:
        self.ledgers: list[str] = []
        self.reports = dict(reports)

    def __iter__(self) -> Iterator[Sent]:
        for name, one in self.reports.items():
            yield Sent(name, one if isinstance(one, bytes) else msgspec.json.encode(one))


def fleet(reports: Mapping[str, Report | bytes]) -> Fleet:
    """The summary of some reports."""
    return summed(Given(reports), created="now")


def named(reports: Iterable[Report | bytes]) -> dict[str, Report | bytes]:
    """n1, n2 ..."""
    return dict(zip((f"n{number}" for number in itertools.count(1)), reports, strict=False))


def lay(folder: Path, reports: Mapping[str, Report | bytes]) -> Path:
    """Write each report as NODE.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in reports.items():
        (folder / f"{name}.json").write_bytes(one if isinstance(one, bytes) else msgspec.json.encode(one))
    return folder
