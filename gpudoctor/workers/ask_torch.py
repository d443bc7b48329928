"""Asks PyTorch what it was built for, which GPUs it finds, and why it refuses them; it makes no tensor."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.workers.common import Teller


def ask(teller: Teller, torch: Any) -> None:
    """Ask for everything that a diagnosis needs; every attribute may be missing in an old or broken build."""
    find = teller.find
    hip = find(torch, "version.hip")
    teller.tell(built_for=find(torch, "version.cuda") or hip or find(torch, "version.xpu"))
    teller.stage("devices")
    if sys.platform == "darwin" and find(torch, "backends.mps") is not None:
        _apple(teller, torch)
        return
    teller.tell(mps_built=None)
    door = _door(teller, torch)
    teller.fact("available", lambda: bool(door.is_available()))
    teller.fact("count", lambda: int(door.device_count()))
    teller.stage("init")
    teller.fact("archs", lambda: _archs(teller, torch))
    _init(teller, door)
    _cudnn(teller, torch, None if hip else find(torch, "version.cuda"))
    _nccl(teller, torch)


def _apple(teller: Teller, torch: Any) -> None:
    """PyTorch on macOS, which has one device "mps" or none."""
    mps = torch.backends.mps
    teller.fact("mps_built", lambda: bool(mps.is_built()))
    available = teller.fact("available", lambda: bool(mps.is_available()))
    if available is not None:
        device = {"index": 0, "name": "mps", "capability": None, "gfx": None, "memory": None}
        teller.tell(count=int(available), devices=[device] if available else [])
    teller.tell(archs=[], cudnn=None, error=None)


def _door(teller: Teller, torch: Any) -> Any:
    """torch.xpu in a build for Intel GPUs, torch.cuda in every other one, builds for ROCm included."""
    is_cuda = teller.find(torch, "version.cuda") or teller.find(torch, "version.hip")
    is_xpu = teller.find(torch, "version.xpu") and not is_cuda
    return torch.xpu if is_xpu else torch.cuda


def _init(teller: Teller, door: Any) -> None:
    init = teller.find(door, "init")
    try:
        if init is not None:
            init()
    except Exception as error:
        teller.tell(error=teller.text(error), devices=[])
        return
    teller.tell(error=None)
    teller.fact("devices", lambda: [_device(teller, door, index) for index in range(door.device_count())])


def _device(teller: Teller, door: Any, index: int) -> dict[str, Any]:
    properties = door.get_device_properties(index)
    gfx = teller.find(properties, "gcnArchName")
    major, minor = teller.find(properties, "major"), teller.find(properties, "minor")
    return {
        "index": index,
        "name": teller.find(properties, "name"),
        # A build for ROCm has these numbers too, but they are no compute capability.
        "capability": None if gfx or major is None else f"{major}.{minor}",
        "gfx": gfx.partition(":")[0] if gfx else None,
        "memory": teller.find(properties, "total_memory"),
    }


def _archs(teller: Teller, torch: Any) -> list[str]:
    """The list as compiled; get_arch_list() of some releases is empty where no GPU answers."""
    flags = teller.find(torch, "_C._cuda_getArchFlags")
    listed = list(torch.cuda.get_arch_list())
    return listed or ((flags() or "").split() if flags else [])


def _cudnn(teller: Teller, torch: Any, cuda: str | None) -> None:
    """The version of the cuDNN that was loaded; builds for ROCm answer with MIOpen's."""
    if cuda is None:
        teller.tell(cudnn=None)
        return
    try:
        number = torch.backends.cudnn.version()
    except Exception as error:
        teller.tell(cudnn={"unknown": teller.full_text(error)}, cudnn_error=teller.text(error))
        return
    teller.tell(cudnn=_cudnn_release(number) if number else None)


def _nccl(teller: Teller, torch: Any) -> None:
    """NCCL's version, RCCL's in a build for ROCm; a build without (for the CPU, Windows) has no such function."""
    if teller.find(torch, "_C._nccl_version") is None:
        teller.tell(nccl=None)
        return
    teller.fact("nccl", lambda: _nccl_release(torch.cuda.nccl.version()))


def _nccl_release(version: Any) -> str:
    """(2, 21, 5), in some builds with a suffix; up to 1.9 NCCL_VERSION_CODE: 2708 is 2.7.8, 21003 2.10.3."""
    if isinstance(version, tuple):
        return ".".join(str(part) for part in version[:3])
    thousands = 10_000 if version >= 10_000 else 1000
    return f"{version // thousands}.{version % thousands // 100}.{version % 100}"


def _cudnn_release(number: int) -> str:
    """CUDNN_VERSION of cudnn_version.h: 8902 is 8.9.2, and from cuDNN 9 on 90100 is 9.1.0."""
    thousands, hundreds = (10_000, 100) if number >= 90_000 else (1000, 100)
    return f"{number // thousands}.{number % thousands // hundreds}.{number % hundreds}"
