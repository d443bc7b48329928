"""Asks TensorFlow what it was built for and which GPUs it lists; it opens none, which would take their memory."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.workers.common import Teller


def ask(teller: Teller, tensorflow: Any) -> None:
    """Ask for everything that a diagnosis needs; why it refuses a GPU, TensorFlow says on stderr alone."""
    build = _build(tensorflow)
    on_gpu = build.get("is_cuda_build") or build.get("is_rocm_build")
    teller.tell(built_for=(build.get("cuda_version") or build.get("rocm_version")) if on_gpu else None)
    teller.tell(archs=[str(name) for name in build.get("cuda_compute_capabilities") or ()])
    teller.stage("devices")
    listed = teller.fact("devices", lambda: _devices(teller, tensorflow))
    if listed is not None:
        teller.tell(count=len(listed), available=bool(listed))
    if os.environ.get("XLA_FLAGS"):
        teller.stage("compile")
        _compile(tensorflow)


def _compile(tensorflow: Any) -> None:
    """Compile an addition for the CPU: XLA reads XLA_FLAGS no sooner, and aborts at a flag that it does not know."""
    try:
        tensorflow.config.set_visible_devices([], "GPU")
        tensorflow.function(lambda: tensorflow.constant(1.0) + 1.0, jit_compile=True)()
    except Exception:
        return  # whether XLA works, the smoke tests say


def _build(tensorflow: Any) -> dict[str, Any]:
    try:
        return dict(tensorflow.sysconfig.get_build_info())
    except Exception:
        return {}


def _devices(teller: Teller, tensorflow: Any) -> list[dict[str, Any]]:
    listed = tensorflow.config.list_physical_devices("GPU")
    return [_device(teller, tensorflow, index, device) for index, device in enumerate(listed)]


def _device(teller: Teller, tensorflow: Any, index: int, device: Any) -> dict[str, Any]:
    try:
        details = tensorflow.config.experimental.get_device_details(device)
    except Exception as error:
        why = {"unknown": teller.full_text(error)}
        return {"index": index, "name": why, "capability": why, "gfx": why, "memory": why}
    capability = details.get("compute_capability")
    return {
        "index": index,
        "name": details.get("device_name"),
        "capability": ".".join(str(part) for part in capability) if capability else None,
        "gfx": None,
        "memory": {"unknown": "TensorFlow does not report it without initializing the GPU"},
    }
