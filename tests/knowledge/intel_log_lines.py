"""What i915 and xe log of firmware, resets and timeouts, and what it is read as."""

# ruff: noqa: E501 - a line of a log stays one line.

from gpudoctor.knowledge.kernel_log import RecognizedLine

# fmt: off
INTEL_LINES: list[tuple[str, RecognizedLine]] = [
    ("xe 0000:0b:00.0: [drm] Tile0: GT0: Using GuC firmware from xe/bmg_guc_70.bin version 70.58.0",
     RecognizedLine("intel-guc", gpu="0000:0b:00.0", device="xe/bmg_guc_70.bin", driver="70.58.0")),
    ("i915 0000:03:00.0: [drm] GT0: GuC firmware i915/dg2_guc_70.bin version 70.20.0",
     RecognizedLine("intel-guc", gpu="0000:03:00.0", device="i915/dg2_guc_70.bin", driver="70.20.0")),
    ("xe 0000:0b:00.0: [drm] Tile0: GT0: Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=2, state=0x3",
     RecognizedLine("intel-reset", gpu="0000:0b:00.0", device="ccs", text="Engine reset: engine_class=ccs")),
    ("xe 0000:0b:00.0: [drm] Tile0: GT0: Timedout job: seqno=4294967214, lrc_seqno=4294967214, guc_id=2, flags=0x20 in llama-server [6114]",
     RecognizedLine("intel-job-timeout", gpu="0000:0b:00.0", process="llama-server", pid=6114, text="Timedout job: seqno=4294967214")),
    ("xe 0000:83:00.0: [drm] Tile0: GT0: Fault response: Unsuccessful -ENOENT",
     RecognizedLine("intel-job-timeout", gpu="0000:83:00.0", text="Fault response: Unsuccessful -ENOENT")),
    ("Fence expiration time out i915-0000:03:00.0:server[5816]:14c!",
     RecognizedLine("intel-job-timeout", gpu="0000:03:00.0", process="server", pid=5816, text="Fence expiration time out")),
    ("i915 0000:03:00.0: [drm] GPU HANG: ecode 12:10:86cfffff, in python [77]",
     RecognizedLine("intel-reset", gpu="0000:03:00.0", process="python", pid=77, text="GPU HANG: ecode 12:10:86cfffff")),
    ("i915 0000:03:00.0: [drm] Resetting rcs0 for preemption time out",
     RecognizedLine("intel-reset", gpu="0000:03:00.0", device="rcs0", text="Resetting rcs0 for preemption time out")),
    ("xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.",
     RecognizedLine("intel-wedged", gpu="0000:03:00.0", text="Xe has declared device 0000:03:00.0 as wedged")),
    ("i915 0000:00:02.0: Failed to initialize GPU, declaring it wedged!",
     RecognizedLine("intel-wedged", gpu="0000:00:02.0", text="Failed to initialize GPU, declaring it wedged")),
]
# fmt: on
