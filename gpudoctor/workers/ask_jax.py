"""Asks JAX for its devices, which starts its plugins; why a plugin fails, it logs on stderr."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.workers.common import Teller


def ask(teller: Teller, jax: Any) -> None:
    """Ask for the devices of the default backend; JAX_PLATFORMS decides which backends there are."""
    teller.stage("devices")
    try:
        listed = list(jax.devices())
    except Exception as error:
        teller.tell(error=teller.text(error), count=0, available=False, devices=[])
        _backend_errors(teller, jax)
        return
    gpus = [device for device in listed if teller.find(device, "platform") not in ("cpu", "tpu", None)]
    teller.tell(count=len(gpus), available=bool(gpus))
    teller.fact("devices", lambda: [_device(teller, device, index) for index, device in enumerate(gpus)])
    teller.tell(error=None)
    if not gpus:
        _why_not(teller, jax)
        _backend_errors(teller, jax)


def _why_not(teller: Teller, jax: Any) -> None:
    """What a program gets that insists on a GPU; all backends have been started, so nothing new is."""
    try:
        jax.devices("gpu")
    except Exception as error:
        teller.tell(error=teller.text(error))


def _backend_errors(teller: Teller, jax: Any) -> None:
    """JAX keeps in a private place why a backend did not start; the public error often says less."""
    errors = teller.find(jax, "_src.xla_bridge._backend_errors")
    if not isinstance(errors, dict):
        return
    for platform in ("cuda", "rocm", "gpu"):
        if str(errors.get(platform) or "").strip():
            teller.tell(error=str(errors[platform]).strip()[:4000])
            return


def _device(teller: Teller, device: Any, index: int) -> dict[str, Any]:
    capability = teller.find(device, "compute_capability")
    is_gfx = isinstance(capability, str) and capability.startswith("gfx")
    return {
        "index": index,
        "name": teller.find(device, "device_kind"),
        "capability": None if is_gfx or capability is None else str(capability),
        "gfx": capability.partition(":")[0] if is_gfx else None,
        "memory": {"unknown": "JAX does not report it without initializing the GPU"},
    }
