"""Sick NVIDIA machines for the tests of checks: a healthy one with the few facts changed that make the illness."""

from typing import Any

from gpudoctor.facts import DeviceNode, DiskModule, Dkms, Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import change, library, nvidia_host

WHY = Unknown("nobody could look")
KERNEL = "6.8.0-60-generic"
OTHER = "6.8.0-57-generic"


def having(facts: Facts | None = None, **changes: Any) -> Facts:
    """The machine with changes by path; a double underscore stands for a dot: nvidia__kernel__loaded=None."""
    facts = facts or nvidia_host()
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


def disk(version: str = "570.169", kernel: str = KERNEL, **changes: Any) -> DiskModule:
    """A module file as DKMS puts it."""
    plain: dict[str, Any] = {
        "kernel": kernel,
        "path": f"/lib/modules/{kernel}/updates/dkms/nvidia.ko",
        "version": version,
        "flavor": "proprietary",
        "signer": "machine key",
        "vermagic": kernel,
    }
    return DiskModule(**(plain | changes))


def entry(version: str = "570.169", kernel: str | None = None, state: str = "added") -> Dkms:
    """One line of dkms status."""
    return Dkms(module="nvidia", version=version, kernel=kernel, state=state)


def event(kind: str, text: str = "the line", gpu: str | None = None, code: int | None = None, **what: str) -> LogEvent:
    """One recognised line of the log."""
    return LogEvent(kind=kind, text=text, gpu=gpu, code=code, what=what)


def xid(code: int, pid: int = 1, gpu: str = "0000:01:00.0", text: str = "") -> LogEvent:
    """One Xid."""
    return event("xid", text or f"NVRM: Xid (PCI:{gpu[:-2]}): {code}, pid={pid}", gpu, code, pid=str(pid))


def logged(*events: LogEvent, facts: Facts | None = None) -> Facts:
    """The machine with a log."""
    return having(facts, log__events=events)


def unloaded(facts: Facts | None = None, **changes: Any) -> Facts:
    """The module lies on disk and is not loaded; NVML and libcuda say what they say then."""
    plain: dict[str, Any] = {
        "nvidia__kernel__loaded": None,
        "nvidia__kernel__flavor": None,
        "nvidia__kernel__modules": (),
        "nvidia__kernel__on_disk": (disk(),),
        "nvidia__kernel__gpus": (),
        "nvidia__kernel__nodes": (),
        "nvidia__nvml__code": 9,
        "nvidia__nvml__text": "Driver Not Loaded",
        "nvidia__cuda__code": 100,
        "nvidia__cuda__name": "CUDA_ERROR_NO_DEVICE",
        "nvidia__cuda__text": "no CUDA-capable device is detected",
        "pci__0__driver": None,
        "gpus": (),
    }
    return having(facts, **(plain | changes))


def versions(loaded: str, on_disk: str | None, user: str) -> Facts:
    """Module, module file and libraries of these versions; NVML and libcuda refuse where they differ."""
    return having(
        nvidia__kernel__loaded=loaded,
        nvidia__kernel__on_disk=(disk(on_disk),) if on_disk else (),
        nvidia__nvml__libraries=(library("libnvidia-ml.so.1", user),),
        nvidia__cuda__libraries=(library("libcuda.so.1", user),),
        nvidia__cuda__loaded=f"/usr/lib/x86_64-linux-gnu/libcuda.so.{user}",
        nvidia__nvml__code=18,
        nvidia__nvml__text="Driver/library version mismatch",
        nvidia__cuda__code=803,
        nvidia__cuda__name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    )


def failing(code: int, facts: Facts | None = None, **changes: Any) -> Facts:
    """The result of cuInit is this."""
    return having(facts, nvidia__cuda__code=code, **changes)


def nodes(*names: str, **changes: Any) -> tuple[DeviceNode, ...]:
    """Device nodes under /dev."""
    plain: dict[str, Any] = {"mode": "666", "uid": 0, "gid": 0, "error": None}
    return tuple(DeviceNode(path=f"/dev/{name}", **(plain | changes)) for name in names)
