"""Logs of machines and programs that work: none of their lines is taken for an error."""
# ruff: noqa: E501 - messages stand on one line, as they are printed

import pytest

from gpudoctor.report.model import Report
from gpudoctor.symptoms import explained, scan

AMDGPU_BOOT = """
[    2.131] [drm] amdgpu kernel modesetting enabled.
[    2.131] [drm] amdgpu version: 6.8.5
[    2.140] amdgpu: Virtual CRAT table created for CPU
[    2.140] amdgpu: Topology: Add CPU node
[    2.141] amdgpu 0000:03:00.0: enabling device (0006 -> 0007)
[    2.142] amdgpu 0000:03:00.0: amdgpu: Fetched VBIOS from VFCT
[    2.143] amdgpu: ATOM BIOS: 113-D7020100-102
[    2.150] amdgpu 0000:03:00.0: amdgpu: Trusted Memory Zone (TMZ) feature disabled as experimental (default)
[    2.151] amdgpu 0000:03:00.0: amdgpu: PCIE atomic ops is not supported
[    2.152] amdgpu 0000:03:00.0: amdgpu: MEM ECC is not presented.
[    2.153] amdgpu 0000:03:00.0: amdgpu: SRAM ECC is not presented.
[    2.154] amdgpu 0000:03:00.0: BAR 2: releasing [mem 0xf0000000-0xf01fffff 64bit pref]
[    2.155] amdgpu 0000:03:00.0: BAR 0: assigned [mem 0x7800000000-0x7fffffffff 64bit pref]
[    2.156] amdgpu 0000:03:00.0: amdgpu: VRAM: 24560M 0x0000008000000000 - 0x00000085FEFFFFFF (24560M used)
[    2.157] amdgpu 0000:03:00.0: amdgpu: GART: 512M 0x00007FFF00000000 - 0x00007FFF1FFFFFFF
[    2.30] amdgpu 0000:03:00.0: amdgpu: Will use PSP to load VCN firmware
[    2.40] amdgpu 0000:03:00.0: amdgpu: RAS: optional ras ta ucode is not available
[    2.40] amdgpu 0000:03:00.0: amdgpu: RAP: optional rap ta ucode is not available
[    2.40] amdgpu 0000:03:00.0: amdgpu: SECUREDISPLAY: securedisplay ta ucode is not available
[    2.41] amdgpu 0000:03:00.0: amdgpu: smu driver if version = 0x0000003d, smu fw if version = 0x00000040, smu fw program = 0, smu fw version = 0x004e7e00 (78.126.0)
[    2.41] amdgpu 0000:03:00.0: amdgpu: SMU driver if version not matched
[    2.50] amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!
[    2.51] [drm] Display Core v3.2.266 initialized on DCN 3.2
[    2.60] kfd kfd: amdgpu: Allocated 3969056 bytes on gart
[    2.60] kfd kfd: amdgpu: Total number of KFD nodes to be created: 1
[    2.61] amdgpu: HMM registered 24560MB device memory
[    2.62] amdgpu: SRAT table not found
[    2.63] kfd kfd: amdgpu: added device 1002:744c
[    2.64] amdgpu 0000:03:00.0: amdgpu: SE 6, SH per SE 2, CU per SH 8, active_cu_number 96
[    2.65] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0
[    2.66] amdgpu 0000:03:00.0: amdgpu: Using BACO for runtime pm
[    2.67] [drm] Initialized amdgpu 3.57.0 20150101 for 0000:03:00.0 on minor 1
[    2.68] amdgpu 0000:03:00.0: [drm] Cannot find any crtc or sizes
[    2.69] snd_hda_intel 0000:03:00.1: bound 0000:03:00.0 (ops amdgpu_dm_audio_component_bind_ops [amdgpu])
[   20.1] amdgpu 0000:03:00.0: [drm] REG_WAIT timeout 1us * 100 tries - dcn32_program_compbuf_size line:139
[   21.1] amdgpu 0000:03:00.0: amdgpu: Runtime PM not available
"""
INTEL_BOOT = """
[    3.1] i915 0000:00:02.0: [drm] VT-d active for gfx access
[    3.1] i915 0000:00:02.0: vgaarb: deactivate vga console
[    3.2] i915 0000:00:02.0: [drm] Using Transparent Hugepages
[    3.2] i915 0000:00:02.0: vgaarb: VGA decodes changed: olddecodes=io+mem,decodes=none:owns=mem
[    3.3] i915 0000:00:02.0: [drm] Finished loading DMC firmware i915/adlp_dmc.bin (v2.20)
[    3.4] i915 0000:00:02.0: [drm] GT0: GuC firmware i915/adlp_guc_70.bin version 70.29.2
[    3.4] i915 0000:00:02.0: [drm] GT0: HuC firmware i915/tgl_huc.bin version 7.9.3
[    3.5] i915 0000:00:02.0: [drm] GT0: HuC: authenticated for all workloads
[    3.5] i915 0000:00:02.0: [drm] GT0: GUC: submission enabled
[    3.5] i915 0000:00:02.0: [drm] GT0: GUC: SLPC enabled
[    3.6] i915 0000:00:02.0: [drm] GT0: GUC: RC enabled
[    3.6] i915 0000:00:02.0: [drm] Protected Xe Path (PXP) protected content support initialized
[    3.7] [drm] Initialized i915 1.6.0 20230929 for 0000:00:02.0 on minor 0
[    3.8] xe 0000:03:00.0: [drm] Found battlemage (device ID e20b) discrete display version 14.01 stepping B0
[    3.8] xe 0000:03:00.0: [drm] VISIBLE VRAM: 0x0000006000000000, 0x0000000300000000
[    3.9] xe 0000:03:00.0: [drm] Using GuC firmware from xe/bmg_guc_70.bin version 70.45.2
[    4.0] xe 0000:03:00.0: [drm] Using HuC firmware from xe/bmg_huc.bin version 8.2.10
[    4.0] xe 0000:03:00.0: [drm] GT0: GuC load done, status: Reset = 0, BootROM = 0x76, UKernel = 0xF0
[    4.1] xe 0000:03:00.0: [drm] Tile0: GT0: ccs1 fused off
[    4.1] xe 0000:03:00.0: [drm] vcs1 fused off
[    4.2] [drm] Initialized xe 1.1.0 for 0000:03:00.0 on minor 1
[    4.2] xe 0000:03:00.0: [drm] *ERROR* GT1: GSC proxy component not bound in time
[    5.0] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC00.PEG1.PEGP.GPS], AE_NOT_FOUND (20230628/psargs-330)
[    5.0] ACPI Error: Aborting method \\_SB.PC00.LPCB.EC0._Q9C due to previous error (AE_NOT_FOUND) (20230628/psparse-529)
[    5.1] ACPI Warning: \\_SB.PC00.PEG1.PEGP._DSM: Argument #4 type mismatch - Found [Buffer], ACPI requires [Package] (20230628/nsarguments-61)
[    5.2] nvidia 0000:01:00.0: vgaarb: VGA decodes changed: olddecodes=io+mem,decodes=none:owns=none
[    5.3] pci 0000:01:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:00:01.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
[    5.4] mei_gsc i915.mei-gsc.768: FW not ready: resetting: dev_state = 2 pxp = 0
[    5.4] Lockdown: swapper/0: hibernation is restricted; see man kernel_lockdown.7
[    5.5] integrity: Problem loading X.509 certificate -65
[    5.6] DMAR: Intel(R) Virtualization Technology for Directed I/O
[    5.7] secureboot: Secure boot enabled
[    5.8] pcieport 0000:00:1c.0: AER: Corrected error message received from 0000:00:1c.0
"""
NVIDIA_BOOT = """
[    8.1] nvidia: loading out-of-tree module taints kernel.
[    8.1] nvidia: module license 'NVIDIA' taints kernel.
[    8.1] Disabling lock debugging due to kernel taint
[    8.1] nvidia: module verification failed: signature and/or required key missing - tainting kernel
[    8.2] nvidia-nvlink: Nvlink Core is being initialized, major device number 509
[    8.3] nvidia 0000:01:00.0: enabling device (0000 -> 0003)
[    8.4] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (dvs-builder@U22-I3)
[    8.5] nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for x86_64  570.133.20
[    8.6] [drm] [nvidia-drm] [GPU ID 0x00000100] Loading driver
[    8.7] [drm] Initialized nvidia-drm 0.0.0 for 0000:01:00.0 on minor 1
[    8.8] nvidia 0000:01:00.0: [drm] Cannot find any crtc or sizes
[    8.9] nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module nvidia, inheriting taint.
[    9.0] nvidia-uvm: Loaded the UVM driver, major device number 507.
[    9.1] ACPI Warning: \\_SB.PCI0.PEG0.PEGP._DSM: Argument #4 type mismatch - Found [Buffer], ACPI requires [Package] (20230331/nsarguments-61)
[    9.2] NVRM: GPU at PCI:0000:01:00: GPU-5d0ff5c9-fe9a-22d4-a7a6-3f2f7bd0c123
[    9.3] nvidia-gpu 0000:0a:00.3: i2c timeout error e0000000
[    9.3] ucsi_ccg 0-0008: i2c_transfer failed -110
[    9.3] ucsi_ccg 0-0008: ucsi_ccg_init failed - -110
[    9.4] NVRM: testIfDsmSubFunctionEnabled: GPS ACPI DSM called before _acpiDsmSupportedFuncCacheInit subfunction = 11.
[    9.5] NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ x.c:12
[    9.6] nvidia-nvswitch0: open (major=510)
[    9.7] nvidia-peermem: loaded
[    9.8] audit: type=1400 audit(1700.1): apparmor="STATUS" operation="profile_load" name="nvidia_modprobe" pid=700
"""
NCCL_INFO = """
node1:100:100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
node1:100:100 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so), using internal implementation
node1:100:100 [0] NCCL INFO cudaDriverVersion 12040
NCCL version 2.21.5+cuda12.4
node1:100:131 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
node1:100:131 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0
node1:100:131 [0] NCCL INFO NET/IB : No device found.
node1:100:131 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
node1:100:131 [0] NCCL INFO Using non-device net plugin version 0
node1:100:131 [0] NCCL INFO Failed to open libibverbs.so[.1]
node1:100:131 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to SYS
node1:100:131 [0] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.
node1:100:131 [0] NCCL INFO Channel 00/02 :    0   1
node1:100:131 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
node1:100:131 [0] NCCL INFO threadThresholds 8/8/64 | 16/8/64 | 512 | 512
node1:100:131 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.
node1:100:131 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x7 - Init COMPLETE
node1:100:131 [0] NCCL INFO Connected NVLS tree
node1:100:131 [0] NCCL INFO NVLS multicast support is not available on dev 0
node1:100:131 [0] NCCL INFO Call to connect returned Connection refused, retrying
node1:100:131 [0] NCCL INFO misc/socket.cc:46 -> 3
node1:100:131 [0] NCCL INFO comm 0x55 rank 0 nranks 2 - Abort COMPLETE
node1:100:131 [0] NCCL INFO [Service thread] Connection closed by localRank 0
[rank0]:[W ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.
"""
DGX_FM = """
[Mon Nov 10 2025 10:00:01] [INFO] [tid 1234] Fabric Manager version 570.133.20 is running with the following configuration options
[Mon Nov 10 2025 10:00:01] [INFO] [tid 1234] Logging level = INFO
[Mon Nov 10 2025 10:00:01] [INFO] [tid 1234] Abort CUDA jobs on FM exit = 1
[Mon Nov 10 2025 10:00:01] [INFO] [tid 1234] LWM file path =
[Mon Nov 10 2025 10:00:01] [INFO] [tid 1234] NVLink access link failure handling config = 0
[Mon Nov 10 2025 10:00:02] [INFO] [tid 1234] getting NVLink device information
[Mon Nov 10 2025 10:00:02] [INFO] [tid 1234] NVLink Inband feature is enabled. Hence Fabric Manager is not opening and operating on GPUs directly.
[Mon Nov 10 2025 10:00:09] [INFO] [tid 1234] Successfully configured all the available NVSwitches to route GPU NVLink traffic.
nv-fabricmanager[1234]: Connected to 1 node.
systemd[1]: Started NVIDIA fabric manager service.
nvidia-persistenced: Verbose syslog connection opened
"""
CONTAINERD = """
time="2025-10-10T10:00:00Z" level=info msg="starting containerd" revision=x version=1.7.28
time="2025-10-10T10:00:00.1Z" level=info msg="loading plugin \\"io.containerd.grpc.v1.cri\\"..."
time="2025-10-10T10:00:00.1Z" level=info msg="skip loading plugin \\"io.containerd.snapshotter.v1.aufs\\"..." error="aufs is not supported (modprobe aufs failed: exit status 1 \\"modprobe: FATAL: Module aufs not found in directory /lib/modules/6.8.0-49-generic\\\\n\\"): skip plugin"
time="2025-10-10T10:00:00.1Z" level=error msg="failed to load cni during init, please check CRI plugin status before setting up network for pods" error="cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized: failed to load cni config"
time="2025-10-10T10:00:00.2Z" level=info msg="Start cri plugin with config {... CDISpecDirs:[/etc/cdi /var/run/cdi] EnableCDI:true}"
time="2025-10-10T10:00:01Z" level=info msg="Auto-detected mode as 'legacy'"
time="2025-10-10T10:00:01Z" level=info msg="Using CDI mode"
time="2025-10-10T10:00:01Z" level=warning msg="Could not locate /usr/share/nvidia: pattern /usr/share/nvidia not found"
time="2025-10-10T10:00:01Z" level=warning msg="Could not locate nvidia/570.133.20/gsp*.bin: pattern nvidia/570.133.20/gsp*.bin not found"
time="2025-10-10T10:00:01Z" level=warning msg="Could not locate /nvidia-imex: pattern not found"
time="2025-10-10T10:00:01Z" level=info msg="Selecting /dev/nvidia0 as /dev/nvidia0"
time="2025-10-10T10:00:01Z" level=info msg="Generated CDI spec with version 0.5.0"
time="2025-10-10T10:00:01Z" level=warning msg="Failed to evaluate symlink /dev/dri/by-path; ignoring"
I0402 20:02:41.844082       1 main.go:235] "Starting NVIDIA Device Plugin" version=<
I0402 20:02:41.855153       1 main.go:342] Updating config with default resource matching patterns.
I0402 20:02:42.855153       1 server.go:195] Starting GRPC server for 'nvidia.com/gpu'
I0402 20:02:42.855153       1 server.go:146] Registered device plugin for 'nvidia.com/gpu' with Kubelet
I0402 20:02:42.855153       1 health.go:64] Ignoring the following XIDs for health checks: map[13:true 31:true 43:true 45:true 68:true 109:true]
"""
OLLAMA = """
time=2025-09-03T15:13:30.404Z level=INFO source=routes.go:1318 msg="server config" env="map[CUDA_VISIBLE_DEVICES: GPU_DEVICE_ORDINAL: HIP_VISIBLE_DEVICES: HSA_OVERRIDE_GFX_VERSION: OLLAMA_DEBUG:INFO]"
time=2025-09-03T15:13:30.405Z level=INFO source=images.go:477 msg="total blobs: 0"
time=2025-09-03T15:13:30.405Z level=INFO source=routes.go:1371 msg="Listening on [::]:11434 (version 0.11.8)"
time=2025-09-03T15:13:30.406Z level=INFO source=gpu.go:217 msg="looking for compatible GPUs"
time=2025-09-03T15:13:30.500Z level=WARN source=amd_linux.go:61 msg="ollama recommends running the https://www.amd.com/en/support/download/linux-drivers.html" error="amdgpu version file missing: /sys/module/amdgpu/version stat /sys/module/amdgpu/version: no such file or directory"
time=2025-09-03T15:13:30.600Z level=INFO source=types.go:130 msg="inference compute" id=GPU-1 library=cuda variant=v12 compute=8.9 driver=12.8 name="NVIDIA GeForce RTX 4090" total="23.5 GiB" available="23.1 GiB"
time=2025-09-03T15:13:30.600Z level=INFO source=routes.go msg="entering low vram mode" "total vram"="11.6 GiB" threshold="20.0 GiB"
time=2025-09-03T15:13:31.600Z level=WARN source=sched.go:649 msg="gpu VRAM usage didn't recover within timeout" seconds=5.0
ggml_cuda_init: GGML_CUDA_FORCE_MMQ:    no
ggml_cuda_init: GGML_CUDA_FORCE_CUBLAS: no
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
load_backend: loaded CUDA backend from /usr/lib/ollama/libggml-cuda.so
llama_model_loader: loaded meta data with 26 key-value pairs and 291 tensors
load_tensors: offloaded 33/33 layers to GPU
load_tensors:        CUDA0 model buffer size =  4155.99 MiB
llama_context: n_ctx_per_seq (4096) < n_ctx_train (131072) -- the full capacity of the model will not be utilized
print_info: file format = GGUF V3 (latest)
load: control-looking token: 128247 '</s>' was not control-type; this is probably a bug in the model. its type will be overridden
load: special_eos_id is not in special_eog_ids - the tokenizer config may be incorrect
time=2025-09-03T15:13:33Z level=INFO source=server.go:1274 msg="llama runner started in 1.25 seconds"
[GIN] 2025/09/03 - 15:14:11 | 200 |  3.1s |  127.0.0.1 | POST     "/api/chat"
"""
VLLM_OK = """
INFO 09-01 10:00:00 [__init__.py:239] Automatically detected platform cuda.
INFO 09-01 10:00:05 [config.py:600] This model supports multiple tasks: {'generate'}. Defaulting to 'generate'.
INFO 09-01 10:00:06 [cuda.py:240] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.
INFO 09-01 10:00:06 [cuda.py:289] Using XFormers backend.
WARNING 09-01 10:00:07 [config.py:2600] Casting torch.bfloat16 to torch.float16.
INFO 09-01 10:00:08 [parallel_state.py:954] rank 0 in world size 1 is assigned as DP rank 0, PP rank 0, TP rank 0
WARNING 09-01 10:00:08 [custom_all_reduce.py:137] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.
INFO 09-01 10:01:08 [gpu_worker.py] Memory profiling takes 0.59 seconds
WARNING 09-01 10:01:08 [topk_topp_sampler.py:63] FlashInfer is not available. Falling back to the PyTorch-native implementation of top-p & top-k sampling.
INFO 09-01 10:01:09 [core.py:171] init engine (profile, create kv cache, warmup model) took 20.1 seconds
INFO:     Application startup complete.
[W901 10:01:09 socket.cpp:759] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 97 - Address family not supported by protocol).
"""
TRITON_OK = """
W0101 10:00:00.1 1 metrics.cc:798] Unable to get power limit for GPU 0. Status:Success, value:0.000000
I0101 10:00:00.1 1 pinned_memory_manager.cc:275] "Pinned memory pool is created at '0x7f' with size 268435456"
I0101 10:00:00.1 1 cuda_memory_manager.cc:107] "CUDA memory pool is created on device 0 with size 67108864"
W0101 10:00:00.2 1 server.cc:248] failed to enable peer access for some device pairs
I0101 10:00:01 1 server.cc:676] "+-------+---------+--------+"
I0101 10:00:01 1 http_server.cc:4725] "Started HTTPService at 0.0.0.0:8000"
"""
SLURM_OK = """
srun: job 77 queued and waiting for resources
srun: job 77 has been allocated resources
slurmstepd: task_p_pre_launch: Using sched_affinity for tasks
pyxis: importing docker image: nvcr.io/nvidia/pytorch:25.06-py3
[INFO] Fetching image manifest list
--------------------------------------------------------------------------
WARNING: No preset parameters were found for the device that Open MPI detected:
  Local host:            node1
--------------------------------------------------------------------------
hwloc/linux: Ignoring PCI device with non-16bit domain.
"""
WSL_OK = """
[    0.5] hv_vmbus: registering driver dxgkrnl
[    2.1] misc dxg: dxgk: dxgkio_is_feature_enabled: Ioctl failed: -22
[    2.1] misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22
[    2.1] misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -2
[    3.1] WSL (1) ERROR: ConfigMountFsTab:2595: Processing fstab with mount -a failed.
/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link
[    3.2] Exception:
[    3.2] FS-Cache: Duplicate cookie detected
"""
ROCM_OK = """
ROCk module is loaded
Unable to open /sys/class/drm/card0: ok
rocminfo: ok
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status
MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback WTI] Solver <GemmFwdRest>, workspace required: 1073, provided ptr: 0 size: 0
:3:rocdevice.cpp:468: Initializing HSA stack.
hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas
"""
LOGS = {
    "amdgpu_boot": AMDGPU_BOOT,
    "intel_boot": INTEL_BOOT,
    "nvidia_boot": NVIDIA_BOOT,
    "nccl_info": NCCL_INFO,
    "dgx_fm": DGX_FM,
    "containerd": CONTAINERD,
    "ollama": OLLAMA,
    "vllm_ok": VLLM_OK,
    "triton_ok": TRITON_OK,
    "slurm_ok": SLURM_OK,
    "wsl_ok": WSL_OK,
    "rocm_ok": ROCM_OK,
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_of_what_works_has_no_error(name: str) -> None:
    entries = explained(Report(), scan([LOGS[name].encode()])).symptoms
    assert [(one.id, one.message) for one in entries if one.role != "harmless"] == []
