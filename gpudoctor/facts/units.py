"""In which unit a number among the facts is: by the name of its field, which means the same wherever it is used."""

from collections.abc import Sequence

_BYTES = (
    "memory",
    "memory_used",
    "memory_free",
    "memory_available",
    "memory_limit",
    "memlock",
    "size",
    "free",
    "bar1",
    "gtt_size",
)
_ENDINGS = {"_clock": "MHz", "_clock_max": "MHz", "_clock_min": "MHz", "_clock_default": "MHz"}
_OTHERS = {
    "power": "W",
    "power_limit": "W",
    "power_default": "W",
    "power_max": "W",
    "temperature": "°C",
    "temperature_operating_max": "°C",
    "temperature_slowdown": "°C",
    "temperature_shutdown": "°C",
    "temperature_memory": "°C",
    "temperature_memory_max": "°C",
    "utilization": "%",
}


def unit_of(path: Sequence[str]) -> str:
    """The unit of what a path through the facts, or through a report, leads to; empty where it has none.

    Args:
        path: the names of the fields; what a smoke test notes down (`notes`) is not a fact with a unit.
    """
    name = path[-1] if path else ""
    if "notes" in path or "figures" in path:
        return ""
    if name in _BYTES:
        return "bytes"
    ending = next((unit for end, unit in _ENDINGS.items() if name.endswith(end)), "")
    return ending or _OTHERS.get(name, "")
