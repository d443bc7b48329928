"""Reports and recorded machines for the tests of the place "diagnosis"."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.check_engine import MACHINE, Outcome
from gpudoctor.facts import Facts
from gpudoctor.pipeline import check
from gpudoctor.report.model import Consequence, FindingEntry, FixEntry, Report, Summary, UnknownEntry
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.session import SessionSource
from tests.builders import framework, nvidia_host, with_framework
from tests.checks.nvidia_machines import versions

TIGHT = FixEntry(
    "Reload the module.",
    ("sudo rmmod nvidia", "sudo modprobe nvidia"),
    root=True,
    needs="a new login",
    impact="data loss",
    undo="Restart.",
    verify="nvidia-smi",
)
MISMATCH = FindingEntry(
    check="driver.library-mismatch",
    status="fail",
    subject="this machine",
    title="The libraries do not match the module",
    message="The module is 550.90.07, the libraries are 550.107.02.",
    cause="An upgrade replaced the files.",
    evidence=("NVML: Driver/library version mismatch (18)", "cuInit: 803"),
    fixes=(FixEntry("Reboot.", ("sudo reboot",), root=True, needs="reboot", verify="nvidia-smi"), TIGHT),
    consequences=(
        Consequence(check="pytorch.no-gpu", message="PyTorch sees no GPU.", subject="PyTorch 2.7.1"),
        Consequence(check="jax.no-gpu", message="JAX sees no GPU.", subject="JAX 0.7"),
        Consequence(check="jax.no-gpu", message="JAX sees no GPU.", subject="JAX 0.6"),
    ),
    ruled_out=("driver.not-loaded",),
    references=("https://docs.nvidia.com/deploy/nvml-api/",),
)
NARROW = FindingEntry(
    check="link.narrow-pcie",
    status="warn",
    subject="GPU 0",
    title="The GPU has fewer PCIe lanes than it could",
    message="4 of 16 lanes.",
    cause="The slot.",
)
REPORT = Report(
    version="0.1.0",
    status="fail",
    created="2026-11-20T08:30:00Z",
    seconds=1.26,
    summary=Summary(fail=1, warn=1, consequences=3, unknown=1, broken=1, passed=64, skipped=40),
    findings=(MISMATCH, NARROW),
    unknown=(
        UnknownEntry(check="device.ecc", subject="GPU 0", reason="NVML: Not Supported"),
        UnknownEntry(check="probe", subject="docker", reason="the probe failed: OSError: no", broken=True),
    ),
)


class Verdict(msgspec.Struct, frozen=True):
    """A verdict as the list needs it."""

    check: Any
    outcome: Outcome
    about: Any = MACHINE


class Check(msgspec.Struct, frozen=True):
    """A check as the list needs it."""

    id: str
    title: str = "The headline"
    cause: str = "The cause."
    caused_by: tuple[str, ...] = ()


VERDICTS = (
    Verdict(Check("driver.library-mismatch", caused_by=("driver.not-loaded", "wsl.*")), Outcome.PROBLEM),
    Verdict(Check("driver.not-loaded", "The module is not loaded"), Outcome.PASS),
    Verdict(Check("host.full-disk"), Outcome.PASS),
    Verdict(Check("host.full-disk"), Outcome.UNKNOWN),
    Verdict(Check("wsl.old", title=""), Outcome.SKIPPED),
)


def mismatch() -> Facts:
    """An NVIDIA machine after an upgrade without a restart, with PyTorch."""
    return with_framework(framework(), versions("550.90.07", "550.107.02", "550.107.02"))


def doctor(facts: Facts | None = None, title: str = "host.json") -> Doctor:
    """The application on a recorded machine."""
    return Doctor(SessionSource(title=title, facts=facts or mismatch()))


def healthy() -> Facts:
    """A machine on which nothing is wrong."""
    return nvidia_host()


def report_of(facts: Facts) -> Report:
    """The report on a machine."""
    return check(facts=facts)
