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
[    9.4] Unpatched return thunk in use. This should not happen!
[    9.4] WARNING: CPU: 3 PID: 812 at arch/x86/kernel/cpu/bugs.c:2936 __warn_thunk+0x40/0x50
EFI variables are not supported on this system
[    9.4] misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22
/opt/amdgpu/share/libdrm/amdgpu.ids: No such file or directory
Error! The /var/lib/dkms/bbswitch/0.8/6.1.0-3-amd64/x86_64/dkms.conf for module bbswitch includes a BUILD_EXCLUSIVE directive which does not match this kernel/arch/config.
[    9.5] NVRM: nvAssertFailedNoLog: Assertion failed: 0 @ x.c:12
[    9.7] NVRM: Persistence mode is deprecated and will be removed in a future release. Please use nvidia-persistenced instead.
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
DESKTOP = """
[    1.0] Linux version 6.8.0-49-generic (buildd@lcy02-amd64-103) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.2.0) 13.2.0, GNU ld 2.42)
[    1.1] Command line: BOOT_IMAGE=/vmlinuz-6.8.0-49-generic root=/dev/mapper/x ro quiet splash vt.handoff=7
[    1.2] ACPI: _SB_.PCI0.PEG0: _DSM function 0 not supported
[    1.3] pci 0000:00:01.0: BAR 13: no space for [io  size 0x1000]
[    1.4] pci 0000:01:00.0: BAR 6: failed to assign [mem size 0x00080000 pref]
[    1.5] hpet: unused
[    1.6] usb 1-3: device descriptor read/64, error -71
[    2.0] i915 0000:00:02.0: [drm] *ERROR* CPU pipe A FIFO underrun
[    2.1] i915 0000:00:02.0: [drm] *ERROR* Failed to probe lspcon
[    2.2] i915 0000:00:02.0: [drm] GuC firmware i915/tgl_guc_70.bin version 70.20.0
[    2.3] i915 0000:00:02.0: Direct firmware load for i915/gvt/vid_0x8086_did_0x3e9b_rid_0x00.golden_hw_state failed with error -2
[    2.4] i915 0000:00:02.0: [drm] HuC firmware i915/tgl_huc.bin: fetch failed -ENOENT
[    2.5] nouveau 0000:01:00.0: NVIDIA TU117 (167000a1)
[    2.6] nouveau 0000:01:00.0: bios: version 90.17.4c.00.1b
[    2.7] nouveau 0000:01:00.0: pmu: firmware unavailable
[    2.8] nouveau 0000:01:00.0: fb: 4096 MiB GDDR6
[    2.9] nouveau 0000:01:00.0: DRM: VRAM: 4096 MiB
[    3.0] nouveau 0000:01:00.0: DRM: MM: using COPY for buffer copies
[    3.1] snd_hda_intel 0000:01:00.1: Disabling MSI
[    3.2] Bluetooth: hci0: Failed to load Intel DDC file
[    3.3] iwlwifi 0000:00:14.3: Direct firmware load for iwlwifi-so-a0-gf-a0-89.ucode failed with error -2
[    3.4] nvme nvme0: Identify NS List failed (status=0xb)
[    3.5] thermal thermal_zone1: failed to read out thermal zone (-61)
[    3.6] systemd[1]: Failed to find module 'foo'
[    3.7] kauditd_printk_skb: 43 callbacks suppressed
[    3.8] audit: type=1400 audit(1.1): apparmor="DENIED" operation="open" profile="snap.firefox.firefox" name="/proc/pressure/memory"
[    3.9] ucsi_acpi USBC000:00: possible UCSI driver bug 2
"""
AMDGPU_LAPTOP = """
[   10.0] amdgpu 0000:c1:00.0: Direct firmware load for amdgpu/isp_4_1_1.bin failed with error -2
[   10.0] amdgpu 0000:c1:00.0: amdgpu: [drm] Loading DMUB firmware via PSP: version=0x09001B00
[   10.1] amdgpu 0000:c1:00.0: [drm] *ERROR* dc_dmub_srv_log_diagnostic_data: DMCUB error - collecting diagnostic data
[   10.2] amdgpu 0000:c1:00.0: amdgpu: Secure display: Generic Failure.
[   10.3] amdgpu 0000:c1:00.0: amdgpu: SECUREDISPLAY: query securedisplay TA failed. ret 0x0
[   10.4] amdgpu 0000:c1:00.0: amdgpu: PSP runtime database doesn't exist
[   10.5] amdgpu 0000:c1:00.0: amdgpu: failed to load ucode RLC_RESTORE_LIST_CNTL(0x28)
[   10.5] amdgpu 0000:c1:00.0: amdgpu: psp gfx command LOAD_IP_FW(0x6) failed and response status is (0x0)
[   10.6] amdgpu 0000:c1:00.0: amdgpu: reserve 0x4000000 from 0x80f8000000 for PSP TMR
[   11.0] kfd kfd: amdgpu: skipped device 1002:1638, PCI rejects atomics 730<0
[   11.1] kfd kfd: amdgpu: added device 1002:744c
[   12.0] amdgpu 0000:c1:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block
[   12.1] amdgpu 0000:c1:00.0: amdgpu: 3 correctable hardware errors detected in total in umc block
[   12.2] amdgpu 0000:c1:00.0: amdgpu: MODE2 reset
[   12.3] amdgpu: Overdrive is enabled, please disable it before reporting any bugs unrelated to overdrive.
"""
KUBERNETES = """
kubelet[1]: I1010 10:00:00.000 1 manager.go:1] "Partial failure issuing cadvisor.ContainerInfoV2"
kubelet[1]: W1010 10:00:00.000 1 sysinfo.go:203] Nodes topology is not available, providing CPU topology
dockerd[1]: time="2025-10-10" level=warning msg="CDI setup error /etc/cdi: failed to monitor for changes: no such file or directory"
dockerd[1]: time="2025-10-10" level=warning msg="CDI setup error /var/run/cdi: failed to monitor for changes: no such file or directory"
dockerd[1]: time="2025-10-10" level=info msg="Loading containers: done."
nvidia-ctk: time="2025-10-10" level=info msg="Loading config from /etc/docker/daemon.json"
nvidia-ctk: time="2025-10-10" level=info msg="It is recommended that docker daemon be restarted."
nvidia-ctk: level=warning msg="Could not locate nvidia_drv.so: pattern nvidia_drv.so not found"
nvidia-ctk: level=warning msg="Failed to get driver libraries for IMEX: ..."
W 10 nvidia-container-cli: warning: failed to detect vulkan
gpu-operator: time="2025" level=info msg="ClusterPolicy is ready."
dcgm-exporter: level=info msg="DCGM successfully initialized!"
dcgm-exporter: level=info msg="Not collecting DCP metrics: This request is serviced by a module of DCGM that is not currently loaded"
dcgm-exporter: level=warning msg="Skipping line 20 ('DCGM_FI_PROF_GR_ENGINE_ACTIVE'): metric not enabled"
"""
SERVERS = """
[2025-06-01 10:00:00] server_args=ServerArgs(model_path='x', mem_fraction_static=0.88, tp_size=1)
[2025-06-01 10:00:00] Attention backend not explicitly specified. Use flashinfer backend by default.
[2025-06-01 10:00:01] Init torch distributed begin.
[W601 10:00:01.1 ProcessGroupGloo.cpp:712] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME. (function operator())
[2025-06-01 10:00:02] Init torch distributed ends. mem usage=0.00 GB
[2025-06-01 10:00:03] Load weight begin. avail mem=78.50 GB
[2025-06-01 10:00:10] KV Cache is allocated. #tokens: 400000
[2025-06-01 10:00:11] Capture cuda graph begin. This can take up to several minutes. avail mem=8.50 GB
[2025-06-01 10:00:20] Capture cuda graph end. Time elapsed: 9.00 s. avail mem=7.00 GB.
[2025-06-01 10:00:21] The server is fired up and ready to roll!
2025-06-01T10:00:00Z  WARN text_generation_launcher: Unable to use Flash Attention V2: no module
2025-06-01T10:00:00Z  INFO text_generation_launcher: Default `max_batch_prefill_tokens` to 4096
2025-06-01T10:00:00Z  INFO shard-manager: text_generation_launcher: Shard ready in 5.0s rank=0
WARNING 06-01 [fused_moe.py:888] Using default MoE config. Performance might be sub-optimal! Config file not found at E=64.json
(EngineCore_0 pid=7) WARNING 06-01 [gpu_worker.py] CUDA graph capturing finished in 5 secs
WARNING 06-01 [interface.py:235] Using 'pin_memory=False' as WSL is detected. This may slow down the performance.
INFO 06-01 [utils.py] Triton is installed but 0 active driver(s) found (expected 1). Disabling Triton to prevent runtime errors.
ggml_vulkan: Found 1 Vulkan devices:
ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0 | fp16: 1
warning: asserts enabled, performance may be affected
llama_kv_cache: layer   0: dev = CUDA0
srv    load_model: loading model 'model.gguf'
main: server is listening on http://0.0.0.0:8080
srv  log_server_r: request: GET /health 127.0.0.1 200
slot update_slots: id  0 | task 0 | forcing full prompt re-processing
"""
RANKS = """
W0601 10:00:00.000000 7 torch/distributed/run.py:792] *****************************************
Setting OMP_NUM_THREADS environment variable for each process to be 1 in default
[rank0]:[W601 10:00:00.1 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform barrier as devices used by this process are currently unknown.
node1:1:1 [0] NCCL INFO NET/OFI Using Libfabric version 1.22
node1:1:1 [0] NCCL INFO NET/OFI Could not disable CUDA API usage for HMEM, disabling GDR
node1:1:1 [0] NCCL INFO RAS client listening socket at ::1<28028>
node1:1:1 [0] NCCL INFO Failed to find CUDA library libnvidia-ml.so
node1:1:1 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
node1:1:1 [0] NCCL INFO GPU Direct RDMA Disabled for HCA 0 'mlx5_0'
node1:1:1 [0] NCCL INFO Could not enable P2P between dev 0(=1000) and dev 1(=2000)
node1:1:1 [0] NCCL INFO MSCCL++: not supported
node1:1:1 [0] NCCL INFO RCCL version 2.20.5
node1:1:1 [0] NCCL INFO p2p.cc:213 Cuda failure 'invalid argument' ignored
node1:1:1 [0] NCCL INFO socketProgress: Connection closed by remote peer 10.0.0.1<3>
{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.1}
  5%|▌         | 50/1000 [01:00<19:00,  1.20s/it]
/opt/conda/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown
"""
DEPRECATED = """
/home/me/train.py:3: DeprecationWarning: `torch.jit.script` is deprecated. Please switch to `torch.compile` or `torch.export`.
UserWarning: `torch.jit.trace` is not supported in Python 3.14+ and may break. Please switch to `torch.compile` or `torch.export`.
"""
LOGS = {
    "torchscript": DEPRECATED,
    "desktop": DESKTOP,
    "amdgpu_laptop": AMDGPU_LAPTOP,
    "kubernetes": KUBERNETES,
    "servers": SERVERS,
    "ranks": RANKS,
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
