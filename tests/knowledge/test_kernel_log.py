"""What the lines of a kernel log say."""
# ruff: noqa: E501 - a line of a log stays one line.

import re

import pytest

from gpudoctor.knowledge import kernel_log
from gpudoctor.knowledge.kernel_log import RecognizedLine, driver_error, pci_address, recognise
from tests.knowledge.intel_log_lines import INTEL_LINES

LINES = [
    ("i915 0000:03:00.0: [drm] GuC firmware i915/dg2_guc_70.2.0.bin: fetch failed with error -2",
     RecognizedLine("intel-firmware", gpu="0000:03:00.0", text="GuC firmware i915/dg2_guc_70.2.0.bin: fetch failed with error -2")),
    ("i915 0000:9a:00.0: GT0: GuC firmware i915/pvc_guc_70.26.4.bin: fetch failed -ENOENT",
     RecognizedLine("intel-firmware", gpu="0000:9a:00.0", text="GuC firmware i915/pvc_guc_70.26.4.bin: fetch failed -ENOENT")),
    ("i915 0000:0d:00.0: [drm] *ERROR* GT0: GuC initialization failed -ENOEXEC",
     RecognizedLine("intel-firmware", gpu="0000:0d:00.0", text="GuC initialization failed -ENOEXEC")),
    ("xe 0000:03:00.0: [drm] *ERROR* GT0: Unsupported GuC v70.20.0! v70.29.2 or newer is required",
     RecognizedLine("intel-firmware", gpu="0000:03:00.0", text="Unsupported GuC v70.20.0! v70.29.2 or newer is required")),
    ("i915 0000:03:00.0: Your graphics device 56a0 is not properly supported by i915 in this",
     RecognizedLine("intel-unsupported", gpu="0000:03:00.0", code="56a0", text="Your graphics device 56a0 is not properly supported by i915 in this")),
    ("NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
     RecognizedLine("xid", gpu="0000:07:00.0", code="79", text="GPU has fallen off the bus.")),
    ("NVRM: Xid (PCI:0000:03:00): 13, pid=1234, name=python3, Graphics Exception: ESR 0x504730=0x1",
     RecognizedLine("xid", gpu="0000:03:00.0", code="13", pid=1234, process="python3", text="Graphics Exception: ESR 0x504730=0x1")),
    ("NVRM: Xid (PCI:0000:03:00): 31, pid=99, Ch 00000008, intr 10000000. MMU Fault",
     RecognizedLine("xid", gpu="0000:03:00.0", code="31", pid=99, text="Ch 00000008, intr 10000000. MMU Fault")),
    ("NVRM: Xid (PCI:0000:4b:00 GPU-I:05): 43, pid=7, name=a.out, Ch 00000010",
     RecognizedLine("xid", gpu="0000:4b:00.0", code="43", pid=7, process="a.out", text="Ch 00000010")),
    ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
     RecognizedLine("sxid", gpu="0000:c1:00.0", code="20034", device="nvidia-nvswitch0", text="Fatal, Link 30 LTSSM Fault Up")),
    ("NVRM: Fatal Error while attempting to resize PCIe BARs.",
     RecognizedLine("bar-resize-failed", text="Fatal Error while attempting to resize PCIe BARs")),
    ("kfd kfd: amdgpu: PITCAIRN  not supported in kfd", RecognizedLine("kfd-skipped", text="PITCAIRN  not supported in kfd")),
    ("NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:26b5) installed in this system has fallen off the bus and is not responding to commands.",
     RecognizedLine("lost-at-probe", gpu="0000:b3:00.0", text="fallen off the bus and is not responding")),
    ("amdgpu 0000:01:00.0: amdgpu: \t Faulty UTCL2 client ID: CPF (0x4)",
     RecognizedLine("amdgpu-fault-client", gpu="0000:01:00.0", text="CPF")),
    ("amdgpu 0000:02:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0021 address=0x28fe200000 flags=0x0020]",
     RecognizedLine("iommu-fault", gpu="0000:02:00.0", driver="amdgpu", text="IO_PAGE_FAULT")),
    ("AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x000b address=0xfffd1800000 flags=0x0030]",
     RecognizedLine("iommu-fault", gpu="0000:41:00.0", text="IO_PAGE_FAULT")),
    ("DMAR: [DMA Read NO_PASID] Request device [65:00.0] fault addr 0x7e13f000 [fault reason 0x06] PTE Read access is not set",
     RecognizedLine("iommu-fault", gpu="0000:65:00.0", text="fault addr 0x7e13f000 [fault reason 0x06] PTE Read access is not set")),
    ("Memory Encryption Features active: AMD SEV SEV-ES SEV-SNP", RecognizedLine("confidential-guest", text="AMD SEV SEV-ES SEV-SNP")),
    ("Memory Encryption Features active: Intel TDX", RecognizedLine("confidential-guest", text="Intel TDX")),
    ("NVRM: GPU 0000:02:00.0: GPU has fallen off the bus.",
     RecognizedLine("fallen-off-bus", gpu="0000:02:00.0", text="GPU has fallen off the bus")),
    ("NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please", RecognizedLine("nvrm-legacy", branch=470)),
    ("NVRM: nvidia.ko because it does not include the required GPU", RecognizedLine("nvrm-open-unsupported")),
    ("NVRM: NVIDIA 570.86.15 driver release.", RecognizedLine("nvrm-unsupported", driver="570.86.15", text="NVIDIA 570.86.15 driver release")),
    ("NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1d16)", RecognizedLine("nvrm-gpu-named", gpu="0000:01:00.0", code="1d16")),
    ("NVRM: installed in this system requires use of the NVIDIA open kernel modules.", RecognizedLine("nvrm-open-required")),
    ("NVRM: API mismatch: the client has the version 570.148.08, but", RecognizedLine("api-mismatch", driver="570.148.08")),
    ("NVRM: API mismatch: the client 'nvidia-smi' (pid 812)", RecognizedLine("api-mismatch", process="nvidia-smi", pid=812)),
    ("NVRM: this kernel module has the version 570.148.06.  Please", RecognizedLine("api-mismatch-module", driver="570.148.06")),
    ("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
     RecognizedLine("bar-invalid", text="This PCI I/O region assigned to your NVIDIA device is invalid")),
    ("NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)", RecognizedLine("bar-invalid", gpu="0000:01:00.0", text="BAR1 is 0M @ 0x0")),
    ("NVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x62:0x40:2168)",
     RecognizedLine("rm-init-failed", gpu="0000:02:00.0", code="0x62:0x40:2168")),
    ("NVRM: GPU 0000:02:00.0: rm_init_adapter failed, device minor number 0", RecognizedLine("rm-init-failed", gpu="0000:02:00.0")),
    ("NVRM: kgspBootstrap_GB202: unexpected WPR2 already up, cannot proceed with booting GSP",
     RecognizedLine("gsp-wpr2", text="unexpected WPR2 already up")),
    ("NVRM: GPU0 s_executeBooterUcode_TU102: Booter failed with non-zero error code: 0xb",
     RecognizedLine("gsp-refused", code="0xb", text="Booter failed with non-zero error code: 0xb")),
    ("NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Invalid argument to call [NV_ERR_INVALID_ARGUMENT] (0x0000001F) returned from kgspWaitForRmInitDone(pGpu, pKernelGsp) @ kernel_gsp_gh100.c:1107",
     RecognizedLine("gsp-refused", text="[NV_ERR_INVALID_ARGUMENT] (0x0000001F) returned from kgspWaitForRmInitDone(pGpu, pKernelGsp) @ kernel_gsp_gh100.c:1107")),
    ("NVRM: GPU 0000:01:00.0: PreserveVideoMemoryAllocations module parameter is set. System Power Management attempted without driver procfs suspend interface. Please refer to the 'Configuring Power Management Support' section in the driver README.",
     RecognizedLine("suspend-refused", gpu="0000:01:00.0", text="PreserveVideoMemoryAllocations module parameter is set. System Power Management attempted without driver procfs suspend interface. Please refer to the 'Configuring Power Management Support' section in the driver README.")),
    ("vfio-pci 0000:c3:00.0: BAR 0: can't reserve [mem 0x2800000000-0x2fffffffff 64bit pref]",
     RecognizedLine("vfio-window-held", gpu="0000:c3:00.0", text="BAR 0: can't reserve [mem 0x2800000000-0x2fffffffff 64bit pref]")),
    ("vfio-pci 0000:01:00.0: not ready 65535ms after FLR; giving up",
     RecognizedLine("vfio-not-ready", gpu="0000:01:00.0", text="not ready 65535ms after FLR; giving up")),
    ("nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible",
     RecognizedLine("wake-failed", gpu="0000:01:00.0", driver="nvidia", text="Unable to change power state from D3cold to D0, device inaccessible")),
    ("nvidia 0000:01:00.0: can't change power state from D3cold to D0 (config space inaccessible)",
     RecognizedLine("wake-failed", gpu="0000:01:00.0", driver="nvidia", text="can't change power state from D3cold to D0 (config space inaccessible)")),
    ("pci 0000:06:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]",
     RecognizedLine("bar-no-space", gpu="0000:06:00.0", driver="pci", text="BAR 1: no space for [mem size 0x10000000 64bit pref]")),
    ("pci 0000:06:00.0: BAR 1 [mem size 0x10000000 64bit pref]: can't assign; no space",
     RecognizedLine("bar-no-space", gpu="0000:06:00.0", driver="pci", text="BAR 1 [mem size 0x10000000 64bit pref]: can't assign; no space")),
    ("amdgpu: Unable to locate a BIOS ROM", RecognizedLine("amdgpu-no-vbios", text="Unable to locate a BIOS ROM")),
    ("amdgpu 0000:01:00.0: amdgpu: Unable to locate a BIOS ROM",
     RecognizedLine("amdgpu-no-vbios", gpu="0000:01:00.0", text="Unable to locate a BIOS ROM")),
    ("amdgpu: probe of 0000:83:00.0 failed with error -12",
     RecognizedLine("amdgpu-probe-failed", gpu="0000:83:00.0", code="-12")),
    ("amdgpu 0000:01:00.0: probe with driver amdgpu failed with error -22",
     RecognizedLine("amdgpu-probe-failed", gpu="0000:01:00.0", code="-22")),
    ("failed to validate module [drm_ttm_helper] BTF: -22",
     RecognizedLine("btf-refused", module="drm_ttm_helper", code="-22")),
    ("xe 0000:03:00.0: [drm] Small BAR device",
     RecognizedLine("intel-small-bar", gpu="0000:03:00.0", text="Small BAR device")),
    ("xe 0000:19:00.0: [drm] Failed to resize BAR2 to 8192M (-ENOSPC). Consider enabling 'Resizable BAR' support in your BIOS",
     RecognizedLine("intel-small-bar", gpu="0000:19:00.0", text="Failed to resize BAR2 to 8192M (-ENOSPC). Consider enabling 'Resizable BAR' support in your BIOS")),
    ("Oops: Oops: 0002 [#1] PREEMPT SMP NOPTI", RecognizedLine("oops", text="Oops: 0002")),
    ("Internal error: Oops: 0000000096000004 [#1] SMP", RecognizedLine("oops", text="Oops: 0000000096000004")),
    ("general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#2] SMP",
     RecognizedLine("oops", text="general protection fault, probably for non-canonical address 0xdead000000000122: 0000")),
    ("invalid opcode: 0000 [#1] PREEMPT SMP", RecognizedLine("oops", text="invalid opcode: 0000")),
    ("RIP: 0010:_raw_q_schedule+0x2f/0xb0 [nvidia_uvm]", RecognizedLine("oops-place", module="nvidia_uvm", text="_raw_q_schedule+0x2f/0xb0")),
    ("RIP: 0010:native_queued_spin_lock_slowpath+0x64/0x2a0", RecognizedLine("oops-place", text="native_queued_spin_lock_slowpath+0x64/0x2a0")),
    ("pc : amdgpu_vm_sdma_commit+0x45/0x120 [amdgpu]", RecognizedLine("oops-place", module="amdgpu", text="amdgpu_vm_sdma_commit+0x45/0x120")),
    ("CPU: 7 UID: 0 PID: 7877 Comm: nvidia-sleep.sh Tainted: P           OE      6.14.0-15-generic #15-Ubuntu",
     RecognizedLine("oops-process", pid=7877, process="nvidia-sleep.sh")),
    ("NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7", RecognizedLine("gpu-locked", text="RC watchdog: GPU is probably locked")),
    ("NVRM: Attempting to remove device 0000:8a:00.0 with non-zero usage count!", RecognizedLine("removal-waits", gpu="0000:8a:00.0", text="with non-zero usage count")),
    ("NVRM: Attempting to remove minor device 1 with non-zero usage count!", RecognizedLine("removal-waits", text="with non-zero usage count")),
    ("NVRM: GPU0: PlatformRequestHandler failed to get platform power mode from SBIOS",
     RecognizedLine("power-source", text="PlatformRequestHandler failed to get platform power mode from SBIOS")),
    ("INFO: task nvidia-smi:4821 <reader> blocked on an rw-semaphore likely owned by task nvidia-powerd:1432 <writer>",
     RecognizedLine("lock-owner", process="nvidia-smi", pid=4821, text="rw-semaphore", device="nvidia-powerd")),
    ("INFO: task nvidia-modprobe:77 blocked on a mutex likely owned by task X:12.",
     RecognizedLine("lock-owner", process="nvidia-modprobe", pid=77, text="mutex", device="X")),
    ("NVRM: Continuing with GPU removal for device 0000:cc:00.0", RecognizedLine("removal-goes-on", gpu="0000:cc:00.0", text="Continuing with GPU removal")),
    ("CPU: 9 PID: 4555 Comm: chromium:shlo3 Not tainted 5.4.111 #1-NixOS", RecognizedLine("oops-process", pid=4555, process="chromium:shlo3")),
    ("Internal error: Oops - BTI: 0000000036000003 [#1] SMP", RecognizedLine("bti-trap", text="Oops - BTI: 0000000036000003")),
    ("traps: Missing ENDBR: _portMemAllocatorAllocNonPagedWrapper+0x0/0x10 [nvidia]",
     RecognizedLine("ibt-trap", module="nvidia", text="_portMemAllocatorAllocNonPagedWrapper+0x0/0x10")),
    ("NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359",
     RecognizedLine("driver-no-memory", text="Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359")),
    ("amdgpu: unknown parameter 'gtt_size' ignored",
     RecognizedLine("unknown-parameter", module="amdgpu", text="gtt_size")),
    ("nvidia: unknown parameter 'NVreg_EnableGpuFirmwares' ignored",
     RecognizedLine("unknown-parameter", module="nvidia", text="NVreg_EnableGpuFirmwares")),
    ("i915: unknown parameter 'max_vfs' ignored",
     RecognizedLine("intel-no-functions", module="i915", text="max_vfs")),
    ("NVRM: RmInitAdapter: Cannot initialize GSP firmware RM", RecognizedLine("gsp-failed", text="Cannot initialize GSP firmware RM")),
    ("nvidia 0000:01:00.0: Direct firmware load for nvidia/570.86/gsp_ga10x.bin failed with error -2",
     RecognizedLine("gsp-firmware", gpu="0000:01:00.0", device="nvidia/570.86/gsp_ga10x.bin",
           text="Direct firmware load for nvidia/570.86/gsp_ga10x.bin failed with error -2")),
    ("NVRM: RmFetchGspRmImages: No firmware image found", RecognizedLine("gsp-firmware", text="No firmware image found")),
    ("NVRM: _kgspFwContainerVerifyVersion: GSP firmware image version mismatch: got version 570.86.16, expected version 570.169",
     RecognizedLine("gsp-firmware", driver="570.86.16",
           text="version mismatch: got version 570.86.16, expected version 570.169")),
    ("NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
     RecognizedLine("gfw-boot", code="0x3", text="failed to wait for GFW_BOOT")),
    ("NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected.",
     RecognizedLine("power-cables", gpu="0000:01:00.0", text="GPU does not have the necessary power cables connected")),
    ("NVRM: GPU 0019:01:00.0: No interrupts of any type are available. Cannot use this GPU.",
     RecognizedLine("no-interrupts", gpu="0019:01:00.0", text="No interrupts of any type are available")),
    ("NVRM: GPU 0000:01:00.0 is already bound to NovaCore.", RecognizedLine("already-bound", gpu="0000:01:00.0", driver="NovaCore")),
    ("NVRM: No NVIDIA devices probed.", RecognizedLine("no-device-probed", text="No NVIDIA devices probed")),
    ("NVRM: None of the NVIDIA devices were initialized.",
     RecognizedLine("no-device-probed", text="None of the NVIDIA devices were initialized")),
    ("NVRM: The NVIDIA probe routine was not called for 1 device(s).", RecognizedLine("probe-not-called", text="1")),
    ("NVRM: The NVIDIA probe routine failed for 2 device(s).", RecognizedLine("probe-failed", text="2")),
    ("nvidia 0000:01:00.0: probe with driver nvidia failed with error -1",
     RecognizedLine("probe-failed", gpu="0000:01:00.0", code="-1")),
    ("xe 0000:03:00.0: probe with driver xe failed with error -6",
     RecognizedLine("intel-probe-failed", gpu="0000:03:00.0", code="-6")),
    ("i915: probe of 0000:03:00.0 failed with error -110",
     RecognizedLine("intel-probe-failed", gpu="0000:03:00.0", code="-110")),
    ("xe 0030:03:00.0: [drm] *ERROR* pci resource is not valid",
     RecognizedLine("intel-window-invalid", gpu="0030:03:00.0", text="pci resource is not valid")),
    ("nvidia: probe of 0000:01:00.0 failed with error -1", RecognizedLine("probe-failed", gpu="0000:01:00.0", code="-1")),
    ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.58.03  Release Build",
     RecognizedLine("nvidia-loaded", driver="595.58.03", text="Open Kernel Module")),
    ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023",
     RecognizedLine("nvidia-loaded", driver="535.129.03", text="x86_64 Kernel Module")),
    ("nvidia-uvm: uvm_pmm_gpu.c:3326 devmem_alloc_pagemap[pid:1] request_free_mem_region() err -34",
     RecognizedLine("uvm-hmm", code="-34", text="request_free_mem_region() err -34")),
    ("nouveau 0000:01:00.0: NVIDIA GM204 (124020a1)", RecognizedLine("nouveau-init", gpu="0000:01:00.0", text="GM204")),
    ("[drm] Initialized nouveau 1.3.1 20120801 for 0000:01:00.0 on minor 0", RecognizedLine("nouveau-init", gpu="0000:01:00.0")),
    ("NovaCore 0000:01:00.0: Probe Nova Core GPU driver.",
     RecognizedLine("nova-probe", gpu="0000:01:00.0", text="Probe Nova Core GPU driver.")),
    ("Loading of unsigned module is rejected", RecognizedLine("module-rejected", text="Loading of unsigned module is rejected")),
    ("Loading of module with unavailable key is rejected",
     RecognizedLine("module-rejected", text="Loading of module with unavailable key is rejected")),
    ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
     RecognizedLine("module-rejected", module="nvidia", text="Key was rejected by service")),
    ("nvidia: module verification failed: signature and/or required key missing - tainting kernel",
     RecognizedLine("module-unsigned", module="nvidia", text="signature and/or required key missing - tainting kernel")),
    ("Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
     RecognizedLine("lockdown-refused", process="modprobe", text="unsigned module loading is restricted")),
    ("Kernel is locked down from EFI Secure Boot; see man kernel_lockdown.7", RecognizedLine("locked-down", text="EFI Secure Boot")),
    ("secureboot: Secure boot enabled", RecognizedLine("secure-boot-on", text="Secure boot enabled")),
    ("nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client",
     RecognizedLine("symbol-mismatch", module="nvidia_peermem", text="ib_register_peer_memory_client")),
    ("nvidia: Unknown symbol drm_gem_object_free (err -2)",
     RecognizedLine("unknown-symbol", module="nvidia", text="drm_gem_object_free", code="-2")),
    ("nvidia: version magic '6.8.0-31-generic SMP' should be '6.8.0-40-generic SMP'",
     RecognizedLine("vermagic", module="nvidia", text="6.8.0-31-generic SMP")),
    ("bbswitch: Succesfully loaded. Discrete card 0000:01:00.0 is off",
     RecognizedLine("bbswitch-off", gpu="0000:01:00.0", text="Succesfully loaded. Discrete card 0000:01:00.0 is off")),
    ("systemd[1]: Switching root.", RecognizedLine("switch-root", text="Switching root")),
    ("NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.",
     RecognizedLine("nvrm-open-data-center", text="Open nvidia.ko is only ready for use on Data Center GPUs")),
    ("NVRM: Fatal Error while attempting to resize PCIe BARs.",
     RecognizedLine("bar-resize-failed", text="Fatal Error while attempting to resize PCIe BARs")),
    ("PM: suspend entry (deep)", RecognizedLine("suspend", text="suspend entry (deep)")),
    ("PM: hibernation: hibernation entry", RecognizedLine("suspend", text="hibernation: hibernation entry")),
    ("PM: suspend exit", RecognizedLine("resume", text="suspend exit")),
    ("PM: hibernation: hibernation exit", RecognizedLine("resume", text="hibernation: hibernation exit")),
    ("Out of memory: Killed process 4242 (python3) total-vm:90000kB",
     RecognizedLine("oom-kill", pid=4242, process="python3", text="total-vm:90000kB")),
    ("Memory cgroup out of memory: Killed process 7 (a b) total-vm:1kB",
     RecognizedLine("oom-kill", pid=7, process="a b", text="total-vm:1kB")),
    ("nvidia 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
     RecognizedLine("aer", gpu="0000:01:00.0", text="Corrected")),
    ("pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0",
     RecognizedLine("aer", gpu="0000:01:00.0", text="Uncorrected (Fatal)")),
    ("pcieport 0000:00:01.0: AER: Multiple Corrected error message received from 0000:02:00.0",
     RecognizedLine("aer", gpu="0000:02:00.0", text="Corrected")),
    ("pci 0000:01:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x2 link at 0000:00:1d.0",
     RecognizedLine("pcie-bandwidth-limited", gpu="0000:01:00.0",
           text="31.504 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x2 link at 0000:00:1d.0")),
    ("amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=10, emitted seq=12",
     RecognizedLine("amdgpu-ring-timeout", gpu="0000:03:00.0", text="gfx_0.0.0")),
    ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.0 timeout, signaled seq=1",
     RecognizedLine("amdgpu-ring-timeout", text="comp_1.0.0")),
    ("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", RecognizedLine("amdgpu-reset", gpu="0000:03:00.0", text="GPU reset begin!")),
    ("amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
     RecognizedLine("amdgpu-reset", gpu="0000:03:00.0", text="GPU reset(2) succeeded!")),
    ("amdgpu 0000:03:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8, for process python3 pid 77 thread x)",
     RecognizedLine("amdgpu-fault", gpu="0000:03:00.0", device="gfxhub0", text="no-retry page fault", process="python3", pid=77)),
    ("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0",
     RecognizedLine("amdgpu-atomics", code="67df", text="PCI rejects atomics 730<0")),
    ("kfd kfd: amdgpu: GC IP 0a0306 not supported in kfd", RecognizedLine("kfd-skipped", text="GC IP 0a0306 not supported in kfd")),
    ("amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error -2",
     RecognizedLine("amdgpu-firmware", gpu="0000:03:00.0", text="Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error -2")),
    ("amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init",
     RecognizedLine("amdgpu-init-failed", gpu="0000:03:00.0", text="Fatal error during GPU init")),
    ("amdgpu 0000:83:00.0: amdgpu: 3 uncorrectable hardware errors detected in umc block",
     RecognizedLine("amdgpu-ras", gpu="0000:83:00.0", code="3", text="uncorrectable hardware errors detected in umc block")),
    ("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!. Source:  4",
     RecognizedLine("amdgpu-reset", gpu="0000:03:00.0", text="GPU reset begin!. Source:  4")),
    ("amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62",
     RecognizedLine("amdgpu-reset", gpu="0000:03:00.0", text="GPU reset end with ret = -62")),
    ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* GPU Recovery Failed: -110",
     RecognizedLine("amdgpu-reset", text="GPU Recovery Failed: -110")),
    ("amdgpu 0000:03:00.0: amdgpu: device lost from bus!",
     RecognizedLine("amdgpu-lost", gpu="0000:03:00.0", text="device lost from bus")),
    ("amdgpu 0000:65:00.0: amdgpu:  Process VLLM::EngineCor pid 7304 thread VLLM::EngineCor pid 7304",
     RecognizedLine("amdgpu-culprit", gpu="0000:65:00.0", process="VLLM::EngineCor", pid=7304)),
    ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* Process information: process blender pid 77 thread blender:cs0 pid 78",
     RecognizedLine("amdgpu-culprit", process="blender", pid=77)),
    ("[drm:amdgpu_discovery_set_ip_blocks [amdgpu]] *ERROR* Failed to add gfx ip block(GC_HWIP:0xc0001)",
     RecognizedLine("amdgpu-unknown-block", text="Failed to add gfx ip block(GC_HWIP:0xc0001)")),
    ("[drm] amdgpu kernel modesetting enabled.", RecognizedLine("amdgpu-loaded", text="amdgpu kernel modesetting enabled")),
    ("amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
     RecognizedLine("kfd-hang", gpu="0000:c5:00.0", text="MES failed to respond to msg=REMOVE_QUEUE")),
    ("amdgpu: qcm fence wait loop timeout expired", RecognizedLine("kfd-hang", text="qcm fence wait loop timeout expired")),
    ("amdgpu 0000:83:00.0: amdgpu: {3}1 new uncorrectable hardware errors detected in umc block",
     RecognizedLine("amdgpu-ras", gpu="0000:83:00.0", code="1", text="new uncorrectable hardware errors detected in umc block")),
    ("amdgpu 0000:83:00.0: amdgpu: Saved bad pages 262 reaches threshold value 256",
     RecognizedLine("amdgpu-bad-pages", gpu="0000:83:00.0", code="262", text="Saved bad pages 262 reaches threshold value 256")),
    ("amdgpu 0000:83:00.0: amdgpu: Saved bad pages(262) reaches threshold value(256).",
     RecognizedLine("amdgpu-bad-pages", gpu="0000:83:00.0", code="262",
           text="Saved bad pages(262) reaches threshold value(256).")),
    ("amdgpu 0000:83:00.0: amdgpu: RAS records:300 exceed threshold:256, GPU will not be initialized.",
     RecognizedLine("amdgpu-bad-pages", gpu="0000:83:00.0", code="300",
           text="RAS records:300 exceed threshold:256, GPU will not be initialized.")),
    ('audit: type=1400 audit(1.1:8): avc:  denied  { read write } for  pid=44 comm="python3" name="nvidiactl" dev="devtmpfs"',
     RecognizedLine("selinux-denied", pid=44, process="python3", device="nvidiactl", text="read write")),
    *INTEL_LINES,
]  # fmt: skip

QUIET = [
    "nvidia 0000:01:00.0: BAR 1: can't reserve [mem 0xe0000000-0xefffffff 64bit pref]",
    "vfio-pci 0000:01:00.0: not ready 1023ms after FLR; waiting",
    "",
    "usb 1-1: new high-speed USB device number 4 using xhci_hcd",
    "nvidia: loading out-of-tree module taints kernel.",
    "NVRM: GPU at PCI:0000:02:00: GPU-00000000-4a1b-2c3d-4e5f-abcdef000000",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
    "bbswitch: Succesfully loaded. Discrete card 0000:01:00.0 is on",
    "Lockdown: Xorg: raw io port access is restricted; see man kernel_lockdown.7",
    'avc:  denied  { read } for  pid=44 comm="cat" name="shadow" dev="sda1"',
    "amdgpu 0000:03:00.0: [drm] fb0: amdgpudrmfb frame buffer device",
    "amdgpu 0000:03:00.0: amdgpu: GPU posting now...",
    "amdgpu 0000:03:00.0: amdgpu:  Process  pid 0 thread  pid 0",
    "amdgpu 0000:03:00.0: amdgpu: RAS records:231 exceeds 90% of threshold:256",
    "nvidia 0000:01:00.0: Direct firmware load for nvidia/570.86/gsp_log_ga10x.bin failed with error -2",
    "Memory: 32768K reserved",
    "module: x86/modules: Skipping invalid relocation target",
]


@pytest.mark.parametrize(("line", "event"), LINES)
def test_recognise(line: str, event: RecognizedLine) -> None:
    assert recognise(f"[   41.712001] {line}") == event


@pytest.mark.parametrize(("line", "event"), LINES[:3])
def test_the_journal_adds_words_before_a_line(line: str, event: RecognizedLine) -> None:
    assert recognise(f"Nov 20 10:00:01 host kernel: {line}") == event


@pytest.mark.parametrize("line", QUIET)
def test_other_lines_say_nothing(line: str) -> None:
    assert recognise(line) is None


def test_every_kind_has_a_line_here() -> None:
    shown = {event.kind for _, event in LINES}
    assert {kind for kind, _ in kernel_log.kinds()} - shown == set()


def test_number() -> None:
    assert RecognizedLine("xid", code="79").number == 79
    assert RecognizedLine("probe-failed", code="-1").number == -1
    assert RecognizedLine("rm-init-failed", code="0x62:0x40:2168").number is None
    assert RecognizedLine("xid").number is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:07:00", "0000:07:00.0"),
        ("07:00.1", "0000:07:00.1"),
        ("00000000:C1:00.0", "0000:c1:00.0"),
        ("0001:0a:00.0", "0001:0a:00.0"),
        ("10000:01:00.0", "10000:01:00.0"),
    ],
)
def test_pci_address(text: str, address: str) -> None:
    assert pci_address(text) == address


def test_every_row_can_match() -> None:
    for kind, pattern in kernel_log.kinds():
        assert re.fullmatch(r"[a-z0-9-]+", kind)
        assert set(pattern.groupindex) <= {*RecognizedLine.__struct_fields__, "gpu2"} - {"kind"}


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
