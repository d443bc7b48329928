"""Driver and toolkit versions are read from the spellings seen in the field."""

import pytest

from gpudoctor.parsers.nvidia_version import LoadedDriver, driver_of_file, loaded_driver, modinfo, nvcc_release

GCC = "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04) \n"


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        (
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n{GCC}",
            LoadedDriver("535.183.01", "proprietary"),
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  "
            f"(dvs-builder@U22-I3-B17-02-5)  Tue Sep 23 09:55:41 UTC 2025\n{GCC}",
            LoadedDriver("580.95.05", "open"),
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  (buildbrain@mobile)\n",
            LoadedDriver("540.4.0", "open"),
        ),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02\n", LoadedDriver("470.256.02", "proprietary")),
        ("NVRM version: NVIDIA UNIX x86_64  390.157  Wed Oct 12\n", LoadedDriver("390.157", None)),
        (GCC, None),
        ("NVRM version: unknown\n", None),
        ("", None),
    ],
)
def test_loaded_driver(text: str, driver: LoadedDriver | None) -> None:
    assert loaded_driver(text) == driver


def test_modinfo() -> None:
    text = (
        "filename:       /lib/modules/6.8.0-40-generic/updates/dkms/nvidia.ko\n"
        "import_ns:      DMA_BUF\n"
        "alias:          char-major-195-*\n"
        "version:        550.107.02\n"
        "supported:      external\n"
        "license:        Dual MIT/GPL\n"
        "firmware:       nvidia/550.107.02/gsp_tu10x.bin\n"
        "alias:          pci:v000010DEd*sv*sd*bc06sc80i00*\n"
        "depends:        \n"
        "signature:      5B:1B:\n\t\tAA:BB:\n"
        "parm:           NvSwitchRegDwords:NvSwitch regkey (charp)\n"
    )
    fields = modinfo(text)
    assert fields["version"] == "550.107.02"
    assert fields["license"] == "Dual MIT/GPL"
    assert fields["alias"] == "char-major-195-*"
    assert fields["depends"] == ""
    assert "AA" not in fields


@pytest.mark.parametrize("text", ["", "modinfo: ERROR: Module nvidia not found.\n"])
def test_modinfo_without_a_module(text: str) -> None:
    assert "version" not in modinfo(text)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("libcuda.so.550.54.14", "550.54.14"),
        ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.390.157", "390.157"),
        ("libcuda.so.1", None),
        ("libcuda.so.1.1", None),
        ("libcuda.so", None),
        ("libcudart.so.12.4.127", None),
        ("libcudart.so.11.0.221", None),
        ("libcuda.so.550.54.14.bak", None),
    ],
)
def test_driver_of_file(name: str, version: str | None) -> None:
    assert driver_of_file(name) == version


@pytest.mark.parametrize(
    ("text", "release"),
    [
        (
            "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2024 NVIDIA Corporation\n"
            "Built on Thu_Mar_28_02:18:24_PDT_2024\nCuda compilation tools, release 12.4, V12.4.131\n"
            "Build cuda_12.4.r12.4/compiler.34097967_0\n",
            "12.4",
        ),
        ("Cuda compilation tools, release 9.1, V9.1.85\n", "9.1"),
        ("nvcc: command not found", None),
        ("", None),
    ],
)
def test_nvcc_release(text: str, release: str | None) -> None:
    assert nvcc_release(text) == release
