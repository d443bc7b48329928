"""Records a healthy machine as a file of expectations."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpudoctor.expect.smoke_tolerances import measured_entries
from gpudoctor.expect.toml_writer import TomlEntry, written
from gpudoctor.facts import Facts, Framework, Gpu
from gpudoctor.report.model import Report
from gpudoctor.targets import framework_name, gpus_of

# Releases of a driver keep different amounts of the memory for themselves, some per cent at most.
MEMORY = 0.97


class RecordError(Exception):
    """The machine is no example of a good one; the message is one sentence.

    Attributes:
        report: what was found; what fails, what is not known, or nothing that could be written down.
    """

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


class PerGpu(NamedTuple):
    """What is written down of each GPU."""

    field: str
    operator: str
    comment: str
    of: Callable[[Any], Any] = lambda value: value


GPU = (
    PerGpu("name", "is", "Model of each GPU."),
    PerGpu("status", "is", "Each GPU responds."),
    PerGpu("memory", "at_least", "Bytes of memory, minus 3%: drivers differ.", lambda n: int(n * MEMORY)),
    PerGpu("link_generation_max", "at_least", "PCIe generation that card and slot support."),
    PerGpu("link_width_max", "at_least", "PCIe lanes that card and slot support."),
    PerGpu("ecc", "is", "ECC memory."),
    PerGpu("mig", "is", "MIG mode."),
)  # fmt: skip


def recorded(facts: Facts, report: Report, force: bool = False) -> str:
    """The file.

    Args:
        facts: of the machine.
        report: on it.
        force: write it although the machine is not well.

    Raises:
        RecordError: the machine is not known to be well, or there is nothing to write down.
    """
    if not force and (why := _not_good(report)):
        raise RecordError(why, report)
    entries = list(_entries(facts))
    if all(one.off for one in entries):
        raise RecordError("No GPU, driver or framework found to record.", report)
    return written(entries, facts, _doubts(report))


def _doubts(report: Report) -> str:
    """What a reader has to know of the machine; empty where there is nothing."""
    warned = ", ".join(dict.fromkeys(one.check for one in report.findings if one.status == "warn"))
    if _not_good(report):
        return "The machine was NOT known to be healthy when this was recorded (--force)."
    return f"The machine had warnings when this was recorded ({warned}): is this intended?" if warned else ""


def _not_good(report: Report) -> str:
    if first := next((one for one in report.findings if one.status == "fail"), None):
        return (
            f"Refusing to record: this machine has failures ({first.check}: {first.title}). Fix them first, or use "
            "--force."
        )
    if report.status == "incomplete":
        why = next((f" ({one.check}: {one.reason})" for one in report.unknown if one.essential or one.broken), "")
        return (
            f"Refusing to record: it is unknown whether this machine is healthy{why}. Find that out first, or use "
            "--force."
        )
    return ""


def _entries(facts: Facts) -> Iterator[TomlEntry]:
    yield from _system(facts)
    gpus = gpus_of(facts)
    if gpus:
        yield TomlEntry("gpus", "count", len(gpus), "GPUs visible to the driver.")
        for one in GPU:
            yield from _of_gpus(gpus, one)
        yield from _nvlinks(gpus)
    for number, python in enumerate(facts.pythons):
        for framework in python.frameworks:
            yield from _framework(f"pythons.{number}.frameworks.{framework.name}", framework)
    yield from measured_entries(facts)


def _system(facts: Facts) -> Iterator[TomlEntry]:
    kernel, nvidia = facts.nvidia.kernel, facts.nvidia
    if isinstance(kernel.loaded, str):
        yield _version("nvidia.kernel.loaded", kernel.loaded, "NVIDIA driver, this release or newer.")
    elif isinstance(nvidia.nvml.driver_version, str):
        yield _version(
            "nvidia.nvml.driver_version", nvidia.nvml.driver_version, "NVIDIA driver, this release or newer."
        )
    if isinstance(nvidia.cuda.version, str):
        yield _version("nvidia.cuda.version", nvidia.cuda.version, "Newest CUDA that the driver supports.")
    if kernel.fabric_manager == "active":
        yield TomlEntry("nvidia.kernel.fabric_manager", "is", "active", "Fabric manager for NVSwitch is running.")
    if facts.amd.loaded is True and gpus_of(facts, "amd"):
        yield TomlEntry("amd.loaded", "is", True, "The amdgpu driver is loaded.")
    if isinstance(facts.amd.rocm, str):
        yield _version("amd.rocm", facts.amd.rocm, "ROCm, this release or newer.")
    if isinstance(facts.host.kernel.release, str):
        message = "Kernel. Updates change it, so it is not checked; remove the # to check it."
        yield TomlEntry("host.kernel.release", "is", facts.host.kernel.release, message, off=True)


def _version(path: str, version: str, comment: str) -> TomlEntry:
    """At least this version; of one that cannot be compared, this one."""
    from packaging.version import InvalidVersion, Version

    try:
        return TomlEntry(path, "version", f">={Version(version).public}", comment)
    except InvalidVersion:
        return TomlEntry(path, "is", version, comment)


def _of_gpus(gpus: tuple[Gpu, ...], one: PerGpu) -> Iterator[TomlEntry]:
    """One entry for all GPUs where they are alike, else one each; what a GPU has not, or nobody knows, is left out."""
    values = [getattr(gpu, one.field) for gpu in gpus]
    there = [isinstance(value, str | int | float) for value in values]
    if all(there) and len(set(values)) == 1:
        yield TomlEntry(f"gpus.*.{one.field}", one.operator, one.of(values[0]), one.comment)
        return
    for number, value in enumerate(values):
        if there[number]:
            comment = one.comment if number == there.index(True) else ""
            yield TomlEntry(f"gpus.{number}.{one.field}", one.operator, one.of(value), comment)


def _nvlinks(gpus: tuple[Gpu, ...]) -> Iterator[TomlEntry]:
    links = [gpu.nvlinks for gpu in gpus]
    if all(isinstance(one, tuple) and one and all(one) for one in links) and len(set(map(len, links))) == 1:  # type: ignore[arg-type]
        yield TomlEntry("gpus.*.nvlinks", "count", len(links[0]), "NVLinks per GPU.")  # type: ignore[arg-type]
        yield TomlEntry("gpus.*.nvlinks.*", "is", True, "All are up.")


def _framework(path: str, framework: Framework) -> Iterator[TomlEntry]:
    name = framework_name(framework)
    if isinstance(framework.version, str):
        yield _version(f"{path}.version", framework.version, f"{name}, this version or newer.")
    for field, of in (("cuda", "CUDA"), ("hip", "ROCm")):
        if isinstance(getattr(framework, field), str):
            yield TomlEntry(f"{path}.{field}", "present", True, f"Build for {of}.")
    live = framework.live
    if live is not None and live.available is True and isinstance(live.count, int) and live.count:
        yield TomlEntry(
            f"{path}.live.count", "at_least", live.count, "GPUs that it sees (needs a check without --quick)."
        )
