"""The drivers that are registered for Vulkan, as its loader looks for them (vulkan/icd.d).

https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md
"""

import json
from collections.abc import Iterator
from posixpath import basename, expanduser

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

_INSTEAD = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")  # the manifests that they name are the only ones
_MORE = "VK_ADD_DRIVER_FILES"
_SYSTEM = ("/usr/local/etc", "/etc", "/run/opengl-driver/share")  # the last one is NixOS's


def drivers(machine: Machine) -> Maybe[tuple[str, ...]]:
    """The base names of the libraries that manifests name; a manifest that cannot be read stands for itself."""
    if machine.exists("/.flatpak-info"):
        return Unknown("Flatpak keeps Vulkan's drivers in directories of its own")
    instead = next((value for name in _INSTEAD if (value := machine.env.get(name))), None)
    named = instead or machine.env.get(_MORE, "")
    manifests = [one for path in named.split(":") if path for one in _manifests(machine, path)]
    if instead is None:
        manifests += [one for folder in _folders(machine) for one in _manifests(machine, f"{folder}/vulkan/icd.d")]
    return tuple(dict.fromkeys(_library(machine, path) for path in manifests))


def _folders(machine: Machine) -> Iterator[str]:
    env, home = machine.env, machine.env.get("HOME") or expanduser("~")
    yield env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    yield from (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    yield from _SYSTEM
    yield env.get("XDG_DATA_HOME") or f"{home}/.local/share"
    yield from (env.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")


def _manifests(machine: Machine, path: str) -> Iterator[str]:
    """The manifest itself, or those in a directory."""
    if path.endswith(".json"):
        if machine.exists(path):
            yield path
        return
    folder = path.rstrip("/")
    yield from (f"{folder}/{name}" for name in machine.names(folder) if name.endswith(".json"))


def _library(machine: Machine, manifest: str) -> str:
    try:
        return basename(json.loads(machine.text(manifest))["ICD"]["library_path"]) or basename(manifest)
    except (OSError, ValueError, KeyError, TypeError):
        return basename(manifest)
