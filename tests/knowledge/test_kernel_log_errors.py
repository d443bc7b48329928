"""Lines of drivers that no row of the kernel log knows, and those that are harmless."""
# ruff: noqa: E501 - a line of a log stays one line.

import re

import pytest

from gpudoctor.knowledge import kernel_log
from gpudoctor.knowledge.kernel_log import RecognizedLine, driver_error, recognise

ERRORS = [
    (
        "NVRM: GPU 0000:01:00.0: Failed to allocate the notifier page",
        RecognizedLine("driver-error", gpu="0000:01:00.0", module="NVRM"),
    ),
    (
        "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from status @ kernel_channel.c:2827",
        RecognizedLine("driver-error", module="NVRM"),
    ),
    (
        "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!",
        RecognizedLine("driver-error", module="NVRM"),
    ),
    ("nvidia-uvm: Failed to register the GPU", RecognizedLine("driver-error", module="nvidia")),
    (
        "amdgpu 0000:01:00.0: amdgpu: Failed to evict process queues",
        RecognizedLine("driver-error", gpu="0000:01:00.0", module="amdgpu"),
    ),
    (
        "[drm:amdgpu_device_ip_early_init [amdgpu]] *ERROR* early_init of IP block <psp> failed -19",
        RecognizedLine("driver-error", module="amdgpu"),
    ),
    ("kfd kfd: amdgpu: Failed to resume process queues", RecognizedLine("driver-error", module="kfd")),
    (
        "xe 0000:03:00.0: [drm] *ERROR* GT0: reset failed (-ETIMEDOUT)",
        RecognizedLine("driver-error", gpu="0000:03:00.0", module="xe"),
    ),
    (
        "i915 0000:03:00.0: [drm] *ERROR* GT0: rcs0 hung",
        RecognizedLine("driver-error", gpu="0000:03:00.0", module="i915"),
    ),
]
HARMLESS = [
    "NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ osapi.c:1688",
    "NVRM: nvlogAllocBuffer wrap failed",
    "nvidia 0000:01:00.0: Invalid PCI ROM header signature: fatal: expecting 0xaa55, got 0xffff",
    "NVRM: nvCheckOkFailedNoLog: Check failed: Call not supported [NV_ERR_NOT_SUPPORTED] (0x00000056) returned from x @ y.c:1",
    "nvidia-modeset: ERROR: GPU:0: Failed detecting connected display devices",
    "[drm:nv_drm_fence_context_create_ioctl [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x00000100] Failed to allocate fence",
    "nvidia 0000:01:00.0: Direct firmware load for nvidia/570.86/gsp_log_ga10x.bin failed with error -2",
    "amdgpu 0000:04:00.0: amdgpu SECUREDISPLAY: query securedisplay TA failed. ret 0x0",
    "amdgpu 0000:04:00.0: amdgpu: Secure display: Generic Failure.",
    "amdgpu 0000:03:00.0: [drm] *ERROR* dc_dmub_srv_log_diagnostic_data: DMCUB error - collecting diagnostic data",
    "amdgpu 0000:01:00.0: amdgpu: failed to load ucode DMCUB(0x3D)",
    "[drm:amdgpu_cs_ioctl [amdgpu]] *ERROR* Failed to initialize parser -125!",
    "i915 0000:00:02.0: [drm] *ERROR* CPU pipe A FIFO underrun",
    "i915 0000:00:02.0: Direct firmware load for i915/adlp_dmc.bin failed with error -2",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.84  Release Build",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
    "amdgpu 0000:03:00.0: amdgpu: SMU driver if version not matched",
    "amdgpu 0000:03:00.0: amdgpu: \t MORE_FAULTS: 0x0",
    "kfd kfd: amdgpu: error getting iommu info. is the iommu enabled?",
    "amdgpu 0000:04:00.0: amdgpu: psp gfx command LOAD_IP_FW(0x6) failed and response status is (0x0)",
    "amdgpu 0000:03:00.0: [drm] REG_WAIT timeout 1us * 100 tries - dcn32_program_compbuf_size line:139",
    "i915 0000:00:02.0: Direct firmware load for i915/gvt/vid_0x8086_did_0x3e9b.golden_hw_state failed with error -2",
    "usb 1-1: reset failed",
]  # fmt: skip


@pytest.mark.parametrize(("line", "event"), ERRORS)
def test_an_error_of_a_driver_that_no_row_knows(line: str, event: RecognizedLine) -> None:
    assert recognise(line) is None
    assert driver_error(line, None) == event
    assert driver_error(line, 3) == event


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_lines_are_no_errors(line: str) -> None:
    assert driver_error(line, None) is None


def test_lines_below_the_level_of_errors_are_none() -> None:
    """NVRM writes most of what it reports without a level, which the kernel shows as a warning (4)."""
    assert driver_error("NVRM: failed to copy vbios to system memory.", 4) is not None
    assert driver_error("NVRM: failed to copy vbios to system memory.", 5) is None
    assert driver_error("amdgpu 0000:01:00.0: amdgpu: Failed to evict process queues", 4) is None


def test_every_harmless_row_matches_a_line_here() -> None:
    table = kernel_log._table()
    assert [row for row in table.harmless if not any(re.search(row.pattern, line) for line in HARMLESS)] == []
