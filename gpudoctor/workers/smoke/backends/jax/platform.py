"""Which devices JAX reaches, what it says of them, and how much of their memory its allocator may still take."""

from __future__ import annotations

import os
import sys

from ...memory import available
from ...runner import Unsupported
from .. import xla

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..chip import DeviceInfo

RANKS_OF_CPU = 2  # parts of the CPU that play the devices of an all-reduce
SPLIT = "--xla_force_host_platform_device_count=%d" % RANKS_OF_CPU


def split_cpu() -> None:
    """Let the CPU pass for several devices: XLA reads its flags when it starts."""
    os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") + " " + SPLIT).strip()


def configure(jax: Any, kind: str) -> None:
    """Set what decides where JAX works and what it writes, before it starts a platform."""
    _set(jax, "jax_enable_compilation_cache", False)  # it would write to the disk, and hide compiling
    if kind == "cpu":
        _set(jax, "jax_platforms", "cpu")
        # Calls that run next to each other end in any order; a GPU has a queue, the CPU then waits for each.
        _set(jax, "jax_cpu_enable_async_dispatch", False)


def _set(jax: Any, name: str, value: Any) -> None:
    try:
        jax.config.update(name, value)
    except AttributeError:  # not in this version
        pass


def devices(jax: Any, kind: str) -> list[Any]:
    """All devices of a kind.

    Raises:
        Unsupported: there is none; in JAX's own words.
    """
    try:
        return list(jax.local_devices(backend="cpu" if kind == "cpu" else "gpu"))
    except (RuntimeError, AssertionError) as error:  # the latter where JAX_PLATFORMS leaves nothing
        words = str(error) or "JAX cannot initialize any of the platforms %s." % jax.config.jax_platforms
        raise Unsupported(_why_not(words)) from error


def _why_not(words: str) -> str:
    """JAX keeps in a private place why a platform did not start; the public error often says less."""
    errors = getattr(sys.modules.get("jax._src.xla_bridge"), "_backend_errors", None) or {}
    kept = ("%s: %s" % (name, str(errors[name]).strip()) for name in ("cuda", "rocm", "gpu") if errors.get(name))
    return ". ".join([words.rstrip("."), *kept])


def is_amds(device: Any) -> bool:
    """Whether a GPU is driven by ROCm."""
    return "rocm" in str(device.client.platform_version).lower()


def capability(device: Any) -> tuple[int, int] | None:
    """The compute capability, which JAX writes as "9.0"; None for AMD's "gfx942" and for the CPU."""
    major, dot, minor = str(getattr(device, "compute_capability", "")).partition(".")
    return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None


def free(device: Any, kind: str, chip: DeviceInfo, given: int | None) -> int:
    """What the driver has left and what XLA's allocator keeps unused, within the allocator's limit.

    Args:
        device: JAX's.
        kind: cuda, rocm, cpu.
        chip: the same device as the driver knows it.
        given: bytes that were free before the tests, as the task says; None: it does not.
    """
    if kind == "cpu":
        return available()
    stats = device.memory_stats() or {}
    used = int(stats.get("bytes_in_use", 0))
    kept = max(stats.get("pool_bytes") or 0, stats.get("peak_bytes_in_use", 0)) - used
    allowed = int(stats["bytes_limit"]) - used if stats.get("bytes_limit") else None
    left = chip.free()
    if left is None:
        return int(allowed or given or xla.UNKNOWN_MEMORY)
    room = left + max(0, int(kept))
    return room if allowed is None else min(allowed, room)
