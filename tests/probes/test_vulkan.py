"""The drivers that are registered for Vulkan."""

import json

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.probes.vulkan import drivers
from gpudoctor.recorded_machine import RecordedMachine

SHARE, ETC, MINE = "/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/home/me/.local/share/vulkan/icd.d"


def manifest(library: str) -> str:
    return json.dumps({"ICD": {"library_path": library, "api_version": "1.4.305"}, "file_format_version": "1.0.0"})


RADV = {f"{SHARE}/radeon_icd.x86_64.json": manifest("/usr/lib/x86_64-linux-gnu/libvulkan_radeon.so")}
NVIDIA = {f"{ETC}/nvidia_icd.json": manifest("libGLX_nvidia.so.0")}


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        ({}, {}, ()),
        (RADV, {}, ("libvulkan_radeon.so",)),
        (RADV | NVIDIA, {}, ("libGLX_nvidia.so.0", "libvulkan_radeon.so")),
        ({f"{MINE}/x.json": manifest("libx.so")}, {"HOME": "/home/me"}, ("libx.so",)),
        ({"/opt/d/vulkan/icd.d/x.json": manifest("libx.so")} | RADV, {"XDG_DATA_DIRS": "/opt/d"}, ("libx.so",)),
        ({f"{SHARE}/README": "text"}, {}, ()),
        ({f"{SHARE}/a.json": "{", f"{SHARE}/b.json": '{"ICD": 1}'}, {}, ("a.json", "b.json")),
        # Named manifests take the place of the others, or are added.
        (RADV | NVIDIA, {"VK_ICD_FILENAMES": f"{ETC}/nvidia_icd.json"}, ("libGLX_nvidia.so.0",)),
        (RADV | NVIDIA, {"VK_DRIVER_FILES": SHARE}, ("libvulkan_radeon.so",)),
        (RADV, {"VK_DRIVER_FILES": "/gone.json"}, ()),
        (
            RADV | {"/x/y.json": manifest("liby.so")},
            {"VK_ADD_DRIVER_FILES": "/x/y.json"},
            ("liby.so", "libvulkan_radeon.so"),
        ),
    ],
)
def test_drivers(files: dict[str, str], env: dict[str, str], expected: tuple[str, ...]) -> None:
    assert drivers(RecordedMachine(files, env=env)) == expected


def test_flatpak_has_directories_of_its_own() -> None:
    assert isinstance(drivers(RecordedMachine({"/.flatpak-info": ""})), Unknown)
