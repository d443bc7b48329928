"""Logs around the messages that programs print, each with the message that is its root."""
# ruff: noqa: E501 - messages stand on one line, as they are printed

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Sample(NamedTuple):
    """A log.

    Attributes:
        root: the row of the message that is its root.
        log: the log.
        roles: what other messages are beside it.
    """

    root: str
    log: str
    roles: Mapping[str, str] = MappingProxyType({})


def trace(last: str, *files: str) -> str:
    """A traceback through files of site-packages that ends so."""
    frames = [f'  File "/env/lib/python3.11/site-packages/{one}", line 7, in f\n    f()\n' for one in files]
    head = 'Traceback (most recent call last):\n  File "/home/me/train.py", line 3, in <module>\n    main()\n'
    return head + "".join(frames) + last + "\n"


SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of "
    "which 1.12 GiB is free. Including non-PyTorch memory, this process has {own} GiB memory in use. Of the allocated "
    "memory {torch} GiB is allocated by PyTorch, and {kept} GiB is reserved by PyTorch but unallocated."
)
UNEXPECTED = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error? Error {}"
)
ARCH = """/env/lib/python3.11/site-packages/torch/cuda/__init__.py:235: UserWarning:
{name} with CUDA capability {sm} is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities {list}.
If you want to use the {name} GPU with PyTorch, please check the instructions at https://pytorch.org/get-started/locally/
"""
WATCHDOG = (
    "[rank{0}]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600060 "
    "milliseconds before timing out.\n"
)
ELASTIC = """E0602 11:17:52.185053 4711 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {code}) local_rank: 3 (pid: 4714) of binary: /env/bin/python
Traceback (most recent call last):
  File "/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  rank      : 3 (local_rank: 3)
  exitcode  : {code} (pid: 4714)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
"""
TF = "2026-02-09 09:37:32.334610: "
FACTORY = (
    f"{TF}E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting"
)
XID = "[ 7412.301] NVRM: Xid (PCI:0000:3b:00): {}\n"

SAMPLES = [
    # -- driver and NVML ---------------------------------------------------------------------------------
    Sample("nvml-mismatch", "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.107\n"),
    Sample("nvml-mismatch", "NVRM: API mismatch: the client has the version 550.107.02, but\nNVRM: this kernel module"),
    Sample("smi-no-driver", SMI),
    Sample("smi-no-devices", "$ nvidia-smi\nNo devices were found\n"),
    Sample("nvml-unknown", "root@3f2:/# nvidia-smi\nFailed to initialize NVML: Unknown Error\n"),
    Sample("nvml-permissions", "Failed to initialize NVML: Insufficient Permissions"),
    Sample("nvml-blocked", "Failed to initialize NVML: GPU access blocked by the operating system"),
    Sample("nvml-missing", trace("pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found", "pynvml.py")),
    Sample("smi-missing", "train.sh: line 3: nvidia-smi: command not found\n"),
    Sample("smi-missing", 'OCI runtime exec failed: exec failed: exec: "nvidia-smi": executable file not found in $PATH'),
    Sample("nvcc-missing", "Command 'nvcc' not found, but can be installed with:\nsudo apt install nvidia-cuda-toolkit\n"),
    Sample("nvcc-missing", trace("FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'")),
    Sample("xid-hardware", XID.format("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")),
    Sample("sxid", "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error"),
    Sample("rm-init", "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:1860)"),
    Sample("gpu-dropped", "NVRM: The NVIDIA GeForce GT 710 GPU installed is supported through the NVIDIA 470.xx Legacy drivers."),
    Sample("probe-not-called", "NVRM: The NVIDIA probe routine was not called for 1 device(s)."),
    Sample("nouveau", "ERROR: The Nouveau kernel driver is currently in use by your system."),
    Sample("key-rejected", "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"),
    Sample("module-not-found", "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-49-generic"),
    Sample("modprobe-fails", "modprobe: ERROR: could not insert 'nvidia': No such device"),
    Sample("module-refused-by-build", "*** Failed PREEMPT_RT sanity check. Bailing out! ***\n"),
    Sample("dkms-failed", "Error! Bad return status for module build on kernel: 6.14.0-15-generic (x86_64)\n"),
    Sample("headers-missing", "Error! Your kernel headers for kernel 6.8.0-49-generic cannot be found.\n"),
    Sample("module-in-use", "ERROR: An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel."),
    # -- CUDA --------------------------------------------------------------------------------------------
    Sample("cuda-oom", trace(OOM.format(own="22.5", torch="21.9", kept="0.30"), "torch/nn/modules/linear.py")),
    Sample("cuda-oom", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes."),
    Sample("cuda-oom", trace("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes", "cupy/x.py")),
    Sample("cuda-no-device", trace("cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorNoDevice: no CUDA-capable")),
    Sample("cuda-driver-old", trace("CUDARuntimeError: cudaErrorInsufficientDriver: CUDA driver version is insufficient")),
    Sample("cuda-no-kernel", trace("RuntimeError: CUDA error: no kernel image is available for execution on the device")),
    Sample("cuda-ptx", "CUDA error: the provided PTX was compiled with an unsupported toolchain."),
    Sample("ptx-version", "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.5; current version is '8.2'"),
    Sample("cuda-invalid-ptx", "'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'"),
    Sample("cuda-stub", trace(UNEXPECTED.format("34: CUDA driver is a stub library"), "torch/cuda/__init__.py")),
    Sample("cuda-busy", "CUDA error: all CUDA-capable devices are busy or unavailable"),
    Sample("cuda-ordinal", trace("RuntimeError: CUDA error: invalid device ordinal", "torch/cuda/__init__.py")),
    Sample("cuda-init", "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu."),
    Sample("cuda-os-call", UNEXPECTED.format("304: OS call failed or operation not supported on this OS")),
    Sample("cuda-not-ready", trace(UNEXPECTED.format("802: system not yet initialized"), "torch/cuda/__init__.py")),
    Sample("cuda-driver-mismatch", UNEXPECTED.format("803: system has unsupported display driver / cuda driver combination")),
    Sample("cuda-compat", UNEXPECTED.format("804: forward compatibility was attempted on non supported HW")),
    Sample("cuda-unknown", "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g."),
    Sample("cuda-symbol", "Error 500: named symbol not found"),
    Sample("cuda-ecc", "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    Sample("cuda-nvlink", "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"),
    Sample("cuda-illegal", trace("RuntimeError: CUDA error: an illegal memory access was encountered")),
    Sample("cuda-launch-timeout", "CUDA error: the launch timed out and was terminated"),
    Sample(
        "cuda-assert-place",
        "../aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [1,0,0], thread: [3,0,0] Assertion "
        "`srcIndex < srcSelectDimSize` failed.\n" + trace("RuntimeError: CUDA error: device-side assert triggered"),
        {"cuda-assert": "follows"},
    ),
    Sample("cuda-fork", "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you"),
    Sample("cublas-not-initialised", "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    Sample("ct2-int8", trace("RuntimeError: cuBLAS failed with status CUBLAS_STATUS_NOT_SUPPORTED", "faster_whisper/transcribe.py")),
    Sample("cublas-failed", "CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, opa, opb`"),
    Sample("cudnn-version", "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),
    Sample(
        "cudnn-version",
        f"{TF}E xla/stream_executor/cuda/cuda_dnn.cc:454] Loaded runtime CuDNN library: 8.0.5 but source was compiled with: "
        "8.1.0.  CuDNN library needs to have matching major version and equal or higher minor version.",
    ),
    Sample("cudnn-not-initialised", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    Sample("cudnn-failed", "RuntimeError: GET was unable to find an engine to execute this computation"),
    Sample("cudnn-libcuda", "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object"),
    Sample("cudnn-parts", "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so}\nAborted"),
    Sample("cufft-failed", "RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR"),
    # -- PyTorch -----------------------------------------------------------------------------------------
    Sample("torch-no-driver", trace("RuntimeError: Found no NVIDIA driver on your system. Please check that you have an")),
    Sample("torch-old-driver", "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update"),
    Sample("torch-cpu-build", trace("AssertionError: Torch not compiled with CUDA enabled", "torch/cuda/__init__.py")),
    Sample("torch-cpu-build", "RuntimeError: Distributed package doesn't have NCCL built in"),
    Sample("torch-no-gpus", trace("RuntimeError: No CUDA GPUs are available", "torch/cuda/__init__.py")),
    Sample("torch-unexpected", UNEXPECTED.format("36: something that nobody has seen")),
    Sample("torch-deserialise", "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."),
    Sample("torch-deserialise-other", "RuntimeError: Attempting to deserialize object on CUDA device 5 but torch.cuda.device_count() is 1"),
    Sample("torch-nccl-no-gpu", "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!"),
    Sample("torch-warned", "UserWarning: Can't initialize NVML\n  warnings.warn(\"Can't initialize NVML\")"),
    Sample("torch-arch", ARCH.format(name="NVIDIA GeForce RTX 5090", sm="sm_120", list="sm_80 sm_86 sm_90")),
    Sample("torch-allocator", trace("RuntimeError: Unrecognized CachingAllocator option: expandable_segments", "torch/cuda/__init__.py")),
    Sample("xla-flags", "F1121 23:09:49.631222   17120 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_gpu_foo=1"),
    Sample("powerd-refused", "Mar 14 20:10:58 box nvidia-powerd[8842]: ERROR! Client (presumably SBIOS) has requested to disable Dynamic Boost DC controller"),
    Sample("profiling-refused", "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0."),
    Sample("wake-failed", "nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible"),
    Sample("gpu-too-old-for-code", "RuntimeError: FlashAttention only supports Ampere GPUs or newer."),
    Sample("torchvision", "RuntimeError: operator torchvision::nms does not exist"),
    Sample("mixed-releases", "RuntimeError: flashinfer-cubin version (0.6.9) does not match flashinfer version (0.6.11). Please install the same version of both packages."),
    Sample(
        "extension-abi",
        trace("ImportError: /env/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"),
    ),
    Sample("user-without-name", trace("KeyError: 'getpwuid(): uid not found: 1000910000'")),
    Sample("symbol-nvjitlink", "ImportError: /env/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink"),
    Sample("symbol-nccl", "ImportError: /env/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommResume"),
    Sample("symbol-mkl", "ImportError: /env/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"),
    Sample("flash-attn-missing", "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following"),
    Sample("build-isolation", "      ModuleNotFoundError: No module named 'torch'\n      [end of output]\n"),
    Sample("bnb-no-gpu", "The installed version of bitsandbytes was compiled without GPU support. 8-bit optimizers"),
    Sample(
        "bnb-no-gpu",
        "CUDA Setup failed despite GPU being available. Please run the following command to get more information:\n"
        + trace("AttributeError: 'NoneType' object has no attribute 'cquantize_blockwise_fp16_nf4'", "bitsandbytes/f.py"),
        {"bnb-none": "follows"},
    ),
    Sample("nvcc-mismatch", "The detected CUDA version (11.8) mismatches the version that was used to compile\nPyTorch (12.1). Please"),
    Sample("cuda-home", "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root."),
    Sample("gcc-too-new", "#error -- unsupported GNU version! gcc versions later than 12 are not supported!"),
    Sample("nvenc-api", "[h264_nvenc] Driver does not support the required nvenc API version. Required: 13.0 Found: 12.1"),
    Sample("paddle-architecture", "Mismatched GPU Architecture: The installed PaddlePaddle package was compiled for 61 70"),
    Sample("gcc-without-cxx", "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory"),
    Sample(
        "c-library-too-new",
        "/usr/include/bits/mathcalls.h(206): error: exception specification is incompatible with that of previous "
        'function "rsqrt" (declared at line 629 of /usr/local/cuda/include/crt/math_functions.h)',
    ),
    Sample("nvcc-option", "nvcc fatal   : Unknown option '-static-global-template-stub=false'"),
    Sample("nvcc-arch", "nvcc fatal   : Unsupported gpu architecture 'compute_120'"),
    Sample("nvcc-arch", "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"),
    Sample("numpy-2", "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.2 as it may crash."),
    Sample("shadowed", trace("AttributeError: partially initialized module 'torch' has no attribute 'Tensor'")),
    Sample(
        "triton-compiler",
        trace("torch._inductor.exc.InductorError: RuntimeError: Failed to find C compiler. Please specify via CC"),
    ),
    Sample("triton-libcuda", "/usr/bin/ld: cannot find -lcuda: No such file or directory\ncollect2: error: ld returned 1"),
    Sample("python-headers", "main.c:4:10: fatal error: Python.h: No such file or directory\ncompilation terminated.\n"),
    Sample("triton-missing", "RuntimeError: Cannot find a working triton installation. More information on installing Triton"),
    Sample("too-many-files", trace("OSError: [Errno 24] Too many open files")),
    Sample("own-devices", "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0"),
    Sample("own-shapes", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)"),
    # -- several processes -------------------------------------------------------------------------------
    Sample("nccl-duplicate", "init.cc:738 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"),
    Sample("nccl-interface", "bootstrap.cc:61 NCCL WARN Bootstrap : no socket interface found"),
    Sample("nccl-memlock", "transport/net_ib.cc NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"),
    Sample("nccl-nvls", "transport/nvls.cc:158 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152"),
    Sample("store-timeout", "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to"),
    Sample("port-in-use", "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."),
    # -- AMD ---------------------------------------------------------------------------------------------
    Sample("hip-no-code", "RuntimeError: HIP error: invalid device function"),
    Sample("hip-no-code", "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch"),
    Sample("hip-no-gpus", "RuntimeError: No HIP GPUs are available"),
    Sample("kfd-closed", "Unable to open /dev/kfd read-write: Permission denied"),
    Sample("rock-not-loaded", "ROCk module is NOT loaded, possibly no GPU devices\n"),
    Sample("rocr-unknown-gpu", "Warning: Agent creation failed.\nThe GPU node has an unrecognized id."),
    Sample("rocr-start", "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the resources."),
    Sample("amd-fault", "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present"),
    Sample("opencl-no-platform", "RuntimeError: Failed to create plugin for device GPU. [CLDNN ERROR]. clGetPlatformIDs error -1001"),
    # -- TensorFlow, JAX, CuPy, ONNX Runtime -------------------------------------------------------------
    Sample("tf-kernel-mismatch", "kernel version 550.90.7 does not match DSO version 550.107.2 -- cannot find working devices in this"),
    Sample("tf-no-module", f"{TF}E cuda_diagnostics.cc:219] kernel driver does not appear to be running on this host (box)"),
    Sample("tf-cuinit", f"{TF}E cuda_driver.cc:266] failed call to cuInit: UNKNOWN ERROR (303)"),
    Sample("tf-dlopen", f"{TF}W gpu_device.cc:2342] Cannot dlopen some GPU libraries. Please make sure the missing libraries"),
    Sample("tf-no-drivers", f"{TF}I cuda_platform.cc:31] Could not find cuda drivers on your machine, GPU will not be used."),
    Sample("tf-dynamic-library", f"{TF}W dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'; dlerror: x"),
    Sample("tf-arch-jit", f"{TF}W gpu_device.cc:2432] TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0."),
    Sample("libdevice", f"{TF}W libdevice not found at ./libdevice.10.bc\n"),
    Sample("jax-no-plugin", "WARNING:jax._src.xla_bridge:An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu."),
    Sample("jax-plugin-version", "RuntimeWarning: JAX plugin jax_cuda12_plugin version 0.4.30 is installed, but it is not compatible with the installed jaxlib version 0.4.28, so it will not be used."),
    Sample("jax-backend", trace("RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.", "jax/x.py")),
    Sample("jax-outdated", trace("RuntimeError: Outdated cuDNN installation found.\nVersion JAX was built against: 90100\nMinimum supported: 90100\nInstalled version: 8907", "jax_plugins/cuda.py")),
    Sample("cupy-several", "UserWarning: CuPy may not function correctly because multiple CuPy packages are installed in your environment"),
    Sample("cupy-headers", 'catastrophic error: cannot open source file "vector_types.h"\n'),
    Sample("nvrtc-missing", trace("RuntimeError: CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file", "cupy/x.py")),
    Sample("nvvm-missing", "NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`:"),
    Sample("numba-no-cuda", "numba.cuda.cudadrv.error.CudaSupportError: Error at driver init: CUDA driver library cannot be found."),
    Sample("ort-cuda", "[W:onnxruntime] Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*."),
    Sample("ort-no-provider", "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names."),
    Sample("ct2-library", "RuntimeError: Library libcublas.so.12 is not found or cannot be loaded"),
    Sample("vllm-memory", "ValueError: Free memory on device (7.34/15.49 GiB) on startup is less than desired GPU memory utilization (0.8, 12.39 GiB)."),
    Sample("vllm-cache", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"),
    Sample("vllm-all-reduce", "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'invalid argument'"),
    Sample("vllm-uuid", "ValueError: invalid literal for int() with base 10: 'MIG-377e0049-554c-540b-93c6-d0976f8426cb'"),
    Sample("nvcc-headers", '/e/lib/python3.12/site-packages/nvidia/cu13/include/cccl/cuda/std/__cccl/cuda_toolkit.h:41:8: error: #error "CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths"'),
    Sample("vllm-device", "RuntimeError: Failed to infer device type, please set the environment variable"),
    Sample("ggml-cuda", "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable x"),
    Sample("ollama", 'time=2026 level=INFO source=gpu.go:602 msg="no compatible GPUs were discovered"'),
    Sample("ollama", 'time=2026 level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu'),
    Sample("ollama", 'time=2025 level=INFO source=types.go:131 msg="inference compute" id=0 library=cpu variant=avx2 compute=""'),
    Sample("ollama-no-avx", 'level=WARN msg="CPU does not have minimum vector extensions, GPU inference disabled" required=avx'),
    # -- the system --------------------------------------------------------------------------------------
    Sample("docker-driver", "docker: Error response from daemon: failed to discover GPU vendor from CDI: no known GPU vendor found"),
    Sample("docker-driver", 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'),
    Sample("docker-runtime", "docker: Error response from daemon: unknown or invalid runtime name: nvidia."),
    Sample("ctk-requirement", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver"),
    Sample("ctk-cgroup", "nvidia-container-cli: mount error: failed to add device rules: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"),
    Sample(
        "cdi-not-parsed",
        'failed to load CDI Spec failed to parse CDI Spec "/etc/cdi/nvidia.yaml": failed to unmarshal CDI Spec: error '
        'unmarshaling JSON: while decoding JSON: json: unknown field "additionalGids"',
    ),
    Sample("cdi", "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"),
    Sample("ngc-no-driver", "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"),
    Sample("ngc-shm", "NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be\n   insufficient"),
    Sample("k8s-insufficient", "Warning  FailedScheduling  0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
    Sample("oom-killed-pod", "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n", {"exit-137": "follows"}),
    Sample("kernel-oom", "Out of memory: Killed process 4711 (python) total-vm:99kB, anon-rss:64221180kB, file-rss:0kB"),
    Sample("kernel-oom", "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed."),
    Sample("host-memory", trace("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 12.3 GiB for an array with shape")),
    Sample("killed", "Epoch 1:  12%|#2        |\nKilled\n"),
    Sample("exit-137", "train exited with code 137\n"),
    Sample("segfault", "Segmentation fault (core dumped)\n"),
    Sample("segfault", "process 4711 ended: exit code 139"),
    Sample("bus-error", "Fatal Python error: Bus error\n"),
    Sample("illegal-instruction", "Illegal instruction (core dumped)\n"),
    Sample("disk-full", trace("OSError: [Errno 28] No space left on device")),
    Sample("node-closed", "PermissionError: [Errno 13] Permission denied: '/dev/nvidia0'"),
    Sample("libcuda", trace("OSError: libcuda.so.1: cannot open shared object file: No such file or directory", "triton/x.py")),
    Sample("libgl", trace("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "cv2/__init__.py")),
    Sample("libnvinfer", "ImportError: libnvinfer.so.10: cannot open shared object file: No such file or directory"),
    Sample("cudart-cu-library", trace("ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory")),
    Sample("libamd", "OSError: libamdhip64.so.6: cannot open shared object file: No such file or directory"),
    Sample("libtorch", "ImportError: libtorch_cuda_cpp.so: cannot open shared object file: No such file or directory"),
    Sample("glibcxx", "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /env/x/_C.so)"),
    Sample("pip-no-version", "ERROR: Could not find a version that satisfies the requirement torch==2.1.0 (from versions: 2.5.0, 2.6.0)"),
    Sample("pip-managed", "error: externally-managed-environment\n\nx This environment is externally managed\n"),
    Sample("pip-conflict", "torch 2.6.0 requires nvidia-cudnn-cu12==9.1.0.70, but you have nvidia-cudnn-cu12 9.5.1 which is incompatible."),
    Sample("no-module", trace("ModuleNotFoundError: No module named 'tensorflow'")),
    # -- seldom --------------------------------------------------------------------------------------------
    Sample("gpu-lost", "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU"),
    Sample("cuda-call-needs-driver", UNEXPECTED.format("36: API call is not supported in the installed CUDA driver")),
    Sample("cuda-invalid-function", "RuntimeError: CUDA error: invalid device function"),
    Sample("cuda-access", "cuInit: CUDA_ERROR_NOT_PERMITTED"),
    Sample("cuda-peer", "NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'"),
    Sample("torch-cuda-home-only", "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'"),
    Sample("torchvision-image", "UserWarning: Failed to load image Python extension: '/env/torchvision/image.so'"),
    Sample("undefined-symbol", "ImportError: /env/mine.so: undefined symbol: my_own_function"),
    Sample("xformers", "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:"),
    Sample("inductor-wrapper", trace("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:")),
    Sample("tf-arch-ignored", "Ignoring visible gpu device (device: 0, name: GeForce GT 710, compute capability: 3.5) with Cuda compute capability 3.5."),
    Sample("tf-conv-algorithm", "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN was not set up"),
    Sample("ptxas", "XLA:GPU requires ptxas. Couldn't find a suitable version of ptxas. Falling back"),
    Sample("jax-cuinit", "cuda_executor versions_helpers.cc:135: operation cuInit(0) failed: something"),
    Sample("cupy-path", "UserWarning: CUDA path could not be detected. Set CUDA_PATH environment variable if CuPy"),
    Sample("cupy-wrapper", trace("ImportError:\nCuPy is not correctly installed.\n", "cupy/__init__.py")),
    Sample("aborted", "terminate called after throwing an instance of 'c10::Error'\n"),
    Sample("terminated", "slurmstepd: error: *** JOB 77 ON node12 CANCELLED AT 2026-02-01T12:00:00 DUE TO TIME LIMIT ***"),
    Sample("shared-object", "ImportError: libmine.so.3: cannot open shared object file: No such file or directory"),
    Sample("mps-macos", trace("RuntimeError: The MPS backend is supported on MacOS 13.0+.Current OS version can be queried using `sw_vers`")),
    Sample("mps-not-built", trace("RuntimeError: PyTorch is not linked with support for mps devices")),
    Sample("tensorflow-metal", trace("tensorflow.python.framework.errors_impl.NotFoundError: dlopen(/env/tensorflow-plugins/libmetal_plugin.dylib, 0x0006): Symbol not found: __ZN3tsl8internal10LogMessageC1EPKcii", "tensorflow/__init__.py")),
    Sample("windows-library", trace('OSError: [WinError 126] The specified module could not be found. Error loading "C:\\env\\Lib\\site-packages\\torch\\lib\\shm.dll" or one of its dependencies.', "torch/__init__.py")),
    Sample("ipex-mismatch", "ERROR! Intel® Extension for PyTorch* needs to work with PyTorch 2.2.*, but PyTorch 2.1.0+cu121 is found. Please switch to the matching version and run again."),
    Sample("intel-firmware", "i915 0000:03:00.0: [drm] GuC firmware i915/dg2_guc_70.2.0.bin: fetch failed with error -2"),
    Sample("intel-unknown-device", "i915 0000:03:00.0: Your graphics device 56a0 is not properly supported by i915 in this"),
    Sample("intel-probe-failed", "xe 0000:03:00.0: probe with driver xe failed with error -110"),
    Sample("intel-window", "xe 0030:03:00.0: [drm] *ERROR* pci resource is not valid\nxe 0030:03:00.0: probe with driver xe failed with error -6", {"intel-probe-failed": "follows"}),
    Sample("xpu-none", trace("RuntimeError: No XPU devices are available.", "torch/xpu/__init__.py")),
    Sample("keras-3", trace("ValueError: Your currently installed version of Keras is Keras 3, but this is not yet supported")),
    # -- several messages: the first error is the root, what follows follows ------------------------------
    Sample(
        "cuda-oom",
        f"[rank3]: {OOM.format(own='22.5', torch='21.9', kept='0.30')}\n" + WATCHDOG.format(0) + WATCHDOG.format(1)
        + ELASTIC.format(code=1),
        {"nccl-timeout": "follows", "torchrun": "follows"},
    ),
    Sample("exit-137", WATCHDOG.format(2) + ELASTIC.format(code=-9), {"nccl-timeout": "follows", "torchrun": "follows"}),
    Sample("torchrun", ELASTIC.format(code=1)),
    Sample(
        "xid",
        "step 100 loss 2.1\n" + XID.format("31, pid=4711, name=python, Ch 00000010, intr 00000000. MMU Fault")
        + trace("RuntimeError: CUDA error: unspecified launch failure"),
        {"cuda-launch-failure": "follows"},
    ),
    Sample(
        "xid-hardware",
        trace("RuntimeError: CUDA error: unspecified launch failure")
        + XID.format("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        {"cuda-launch-failure": "follows"},
    ),
    Sample(
        "loader-shm",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
        + trace("RuntimeError: DataLoader worker (pid(s) 811) exited unexpectedly", "torch/utils/data/dataloader.py"),
        {"loader-exited": "follows"},
    ),
    Sample(
        "loader-killed",
        trace("RuntimeError: DataLoader worker (pid 811) is killed by signal: Killed.", "torch/utils/data/dataloader.py"),
    ),
    Sample(
        "nccl-shm",
        "misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-UbzKZ9 (size 9637888)\n"
        + trace("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:81, unhandled system error"),
        {"nccl-hint": "follows"},
    ),
    Sample(
        "torch-arch",
        ARCH.format(name="NVIDIA GeForce RTX 5090", sm="sm_120", list="sm_80 sm_86 sm_90")
        + trace("RuntimeError: CUDA error: no kernel image is available for execution on the device"),
        {"cuda-no-kernel": "follows"},
    ),
    Sample(
        "cuda-oom",
        f"{FACTORY}\n{TF}I cuda_platform.cc:31] Could not find cuda drivers on your machine, GPU will not be used.\n"
        + trace(OOM.format(own="22.5", torch="21.9", kept="0.30")),
        {"tf-no-drivers": "warning", "tf-factory": "harmless"},
    ),
    Sample(
        "",
        f"{FACTORY}\n" + trace("KeyError: 'labels'"),
        {"tf-factory": "harmless"},
    ),
    Sample(
        "vllm-memory",
        "(EngineCore pid=7) ValueError: Free memory on device cuda:0 (2.6/121.63 GiB) on startup is less than desired GPU "
        "memory utilization (0.9, 109.47 GiB)\n"
        + trace("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"),
        {"vllm-wrapper": "follows"},
    ),
    Sample("peer-gone", "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:1234"),
    Sample(
        "torch-no-gpus",
        trace("RuntimeError: No CUDA GPUs are available") + "\nDuring handling of the above exception, another exception "
        "occurred:\n\n" + trace("ValueError: could not set up the trainer") + "subprocess.CalledProcessError: Command "
        "'['python']' returned non-zero exit status 1.",
        {"": "also", "accelerate": "follows"},
    ),
    Sample("bnb-no-cuda", "CUDA Setup failed despite CUDA being available. Please run the following command to get more information:"),
    Sample("xpu-build", trace("AssertionError: Torch not compiled with XPU enabled")),
    Sample("amd-iommu-symbol", "[    9.1] amdgpu: Unknown symbol amd_iommu_bind_pasid (err -2)"),
    Sample("amdgpu-no-vbios", "amdgpu 0000:01:00.0: amdgpu: Unable to locate a BIOS ROM"),
    Sample("amdgpu-mes", "amdgpu 0000:c6:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE"),
    Sample("amdgpu-gtt", "[drm] GTT size has been set as 137438953472 but TTM size has been set as 67069845504, this is unusual"),
    Sample("iommu-pt-missing", 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'),
]  # fmt: skip
