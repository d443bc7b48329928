"""Asks CuPy which GPUs it finds, why it refuses them, and whether its run-time compiler loads; it makes no array."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.workers.common import Teller


def ask(teller: Teller, cupy: Any) -> None:
    """Ask for everything that a diagnosis needs; every attribute may be missing in an old or broken build."""
    runtime = teller.find(cupy, "cuda.runtime")
    is_hip = bool(teller.find(runtime, "is_hip"))
    teller.fact("built_for", lambda: _built_for(teller, runtime, is_hip))
    teller.stage("devices")
    _count(teller, cupy, runtime, is_hip)
    teller.stage("init")
    teller.fact("driver_cuda", lambda: None if is_hip else _driver_cuda(teller, runtime))
    teller.fact("cuda_path", lambda: cupy.cuda.get_cuda_path())
    if not is_hip:
        _nvrtc(teller, cupy)


def _built_for(teller: Teller, runtime: Any, is_hip: bool) -> str:
    number = int(runtime.runtimeGetVersion())
    # HIP_VERSION: major * 10^7 + minor * 10^5 + patch (hip/hip_version.h).
    return f"{number // 10_000_000}.{number // 100_000 % 100}" if is_hip else teller.release(number)


def _driver_cuda(teller: Teller, runtime: Any) -> str | None:
    """The driver answers 0 where there is none: only that tells it from one that is too old."""
    number = int(runtime.driverGetVersion())
    return teller.release(number) if number else None


def _count(teller: Teller, cupy: Any, runtime: Any, is_hip: bool) -> None:
    try:
        count = int(runtime.getDeviceCount())
    except Exception as error:
        code = teller.find(error, "status")
        teller.tell(error=teller.text(error), error_code=code if isinstance(code, int) else None)
        teller.tell(count=0, available=False, devices=[])
        return
    teller.tell(error=None, error_code=None, count=count)
    teller.fact("available", lambda: bool(cupy.is_available()) if hasattr(cupy, "is_available") else count > 0)
    teller.fact("devices", lambda: [_device(runtime, index, is_hip) for index in range(count)])


def _device(runtime: Any, index: int, is_hip: bool) -> dict[str, Any]:
    properties = runtime.getDeviceProperties(index)
    name = properties.get("name", b"")
    gfx = properties.get("gcnArchName") or properties.get("gcnArch")
    if isinstance(gfx, bytes):
        gfx = gfx.decode("utf-8", "replace").partition(":")[0]
    return {
        "index": index,
        "name": name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name),
        "capability": None if is_hip else f"{properties['major']}.{properties['minor']}",
        "gfx": str(gfx) if is_hip and gfx else None,
        "memory": properties.get("totalGlobalMem"),
    }


def _nvrtc(teller: Teller, cupy: Any) -> None:
    """NVRTC, which compiles almost every kernel of CuPy, is opened by the first call and fails late."""
    try:
        version = cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        teller.tell(nvrtc={"unknown": teller.full_text(error)}, nvrtc_error=teller.text(error))
        return
    teller.tell(nvrtc=".".join(str(part) for part in version))
