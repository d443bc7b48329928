"""What goes into a bundle, and the archive: the same facts give the same bytes."""

from __future__ import annotations

import calendar
import gzip
import io
import sys
import tarfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from gpudoctor import __version__
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.model import Report
from gpudoctor.report.renderers import json, markdown, text
from gpudoctor.report.sanitize import clean, document

WIDTH = 100
FOLDER = "gpudoctor"  # that the archive unpacks into
OURS = ("msgspec", "nvidia-ml-py", "numpy", "packaging", "rich", "textual")


class BundleFile(NamedTuple):
    """One file of a bundle."""

    name: str
    holds: str
    text: str


def parts(facts: Facts, report: Report) -> list[BundleFile]:
    """The files, in the order in which they stand in the archive.

    Args:
        facts: as they may leave the machine.
        report: on these facts.
    """
    return [
        BundleFile("facts.json", "the facts, for `gpudoctor check --facts`", document(facts)),
        BundleFile("kernel.log", "the relevant kernel log lines", kernel_lines(facts)),
        BundleFile("report.json", "the report as JSON", json.render(report)),
        BundleFile("report.md", "the report for an issue tracker", markdown.render(report)),
        BundleFile("report.txt", "the report", text.render(report, WIDTH, verbose=True)),
        BundleFile("versions.txt", "versions of gpudoctor, drivers and tools", versions(facts)),
    ]


def kernel_lines(facts: Facts) -> str:
    """The recognised lines of the kernel's log, or why there are none."""
    events = facts.log.events
    if isinstance(events, Unknown):
        return f"# unknown: {clean(events.unknown)}\n"
    lines = [f"# from {clean(facts.log.source or 'nowhere')}, {len(events)} relevant lines"]
    for event in events:
        stamp = f"[{event.seconds:12.6f}] " if event.seconds is not None else ""
        lines.append(stamp + clean(event.text))
    return "\n".join(lines) + "\n"


def versions(facts: Facts) -> str:
    """A line for each tool: what the facts say, and what gpudoctor itself runs with."""
    lines = [f"gpudoctor {__version__}", f"its Python {sys.version.split()[0]}"]
    lines += [f"its {name} {_installed(name)}" for name in OURS]
    lines += [f"{name} {_said(value)}" for name, value in _of_machine(facts)]
    return "\n".join(clean(line) for line in lines) + "\n"


def _of_machine(facts: Facts) -> Iterator[tuple[str, object]]:
    host, kernel, nvidia = facts.host, facts.nvidia.kernel, facts.nvidia
    yield "facts of gpudoctor", facts.version or None
    yield "system", host.distribution.name
    yield "kernel", host.kernel.release
    yield "kernel's compiler", host.kernel.compiler
    yield "NVIDIA module", kernel.loaded
    yield "NVIDIA library", nvidia.nvml.driver_version
    yield "driver CUDA", nvidia.cuda.version
    yield "fabric manager", kernel.fabric_manager_version
    yield "amdgpu", facts.amd.version
    yield "ROCm", facts.amd.rocm
    yield "Docker", facts.containers.docker_version
    yield "NVIDIA Container Toolkit", facts.containers.toolkit
    yield "nvcc", facts.toolkits.home.nvcc
    for python in facts.pythons:
        yield f"Python {python.path}", python.version
        for framework in python.frameworks:
            yield f"  {framework.name}", framework.version


def _said(value: object) -> str:
    if isinstance(value, Unknown):
        return f"unknown: {value.unknown}"
    return "none" if value is None else str(value)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def archive(found: list[BundleFile], created: str) -> bytes:
    """A gzipped tar of the parts that belongs to nobody, and holds no time but that of the facts."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", mtime=0, fileobj=packed) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive_,
    ):
        for part in found:
            data = part.text.encode("utf-8", "backslashreplace")
            one = tarfile.TarInfo(f"{FOLDER}/{part.name}")
            one.size, one.mode, one.mtime = len(data), 0o600, _seconds(created)
            archive_.addfile(one, io.BytesIO(data))
    return packed.getvalue()


def _seconds(created: str) -> int:
    try:
        return calendar.timegm(time.strptime(created, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return 0
