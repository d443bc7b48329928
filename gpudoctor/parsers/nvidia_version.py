"""Versions of the NVIDIA driver and toolkit, from the texts and names in which they stand."""

import re
from typing import Literal

import msgspec

Flavour = Literal["open", "proprietary"]

# Driver branches have three digits since 100 (2007); a toolkit's libcudart.so.12.4.127 must not pass for one.
_DRIVER = r"\d{3,4}\.\d+(?:\.\d+)*"


class LoadedDriver(msgspec.Struct, frozen=True):
    """The kernel module's version, such as 550.54.14; its flavor is None where the text does not tell."""

    version: str
    flavor: Flavour | None


def loaded_driver(text: str) -> LoadedDriver | None:
    """Return what /proc/driver/nvidia/version says; None where there is no driver version in it."""
    line = next((line for line in text.splitlines() if "NVRM version" in line), "")
    version = re.search(rf"(?<![\w.]){_DRIVER}(?![\w.])", line)
    if version is None:
        return None
    flavor: Flavour | None = None
    if "Open Kernel Module" in line:
        flavor = "open"
    elif "Kernel Module" in line:
        flavor = "proprietary"
    return LoadedDriver(version[0], flavor)


def modinfo(text: str) -> dict[str, str]:
    """Return the fields that `modinfo nvidia` prints; of a field that stands there more than once, the first.

    The flavor is in `license`: "NVIDIA", or "Dual MIT/GPL" for the open module.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name and not name[0].isspace() and " " not in name.strip():
            fields.setdefault(name.strip(), value.strip())
    return fields


def driver_of_file(name: str) -> str | None:
    """Return the driver version in a library's file name: libcuda.so.550.54.14 gives 550.54.14, libcuda.so.1 None."""
    found = re.search(rf"\.so\.({_DRIVER})$", name)
    return found[1] if found else None


def nvcc_release(text: str) -> str | None:
    """Return the toolkit's release that `nvcc --version` prints, such as 12.4."""
    found = re.search(r"\brelease (\d+\.\d+)", text)
    return found[1] if found else None
