"""A framework in a Python environment: what its files say, and what it says when it is imported."""

import msgspec

from gpudoctor.facts.text_types import Capability, Count, Duration, Gpus, Small, Version, Whole
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """A shared library that a framework needs, and where it would come from.

    `how` is the loader's reason (RPATH, LD_LIBRARY_PATH, RUNPATH, cache, default directory) or `wheel` where
    the framework opens the nvidia-* wheels by itself.
    """

    soname: str
    needed_by: str  # "torch/lib/libtorch_cuda.so"
    path: str | None = None  # None: nowhere
    how: str = ""
    version: str | None = None  # of the file or of the wheel that brings it
    copies: tuple[str, ...] = ()  # every other copy that lies on this machine's paths
    wheel: str | None = None  # the copy in the environment's nvidia-* wheel, or in the framework's own lib folder
    wheel_version: str | None = None


class FrameworkDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU as a framework lists it."""

    index: Small
    name: Maybe[str | None] = NOT
    capability: Maybe[Capability | None] = NOT
    gfx: Maybe[str | None] = NOT
    memory: Maybe[Count | None] = NOT


class LiveFramework(msgspec.Struct, frozen=True, kw_only=True):
    """What the framework did when a child process imported it and asked for GPUs."""

    stage: str = "start"  # the last stage begun: start, import, version, devices, init, libraries, done
    hung: bool = False
    died: str | None = None  # signal name
    exit_code: Whole | None = None
    import_error: str | None = None  # "ImportError: libcudnn.so.8: cannot open ..."
    import_seconds: Duration | None = None
    file: str | None = None  # module.__file__
    version: Maybe[Version | None] = NOT
    built_for: Maybe[Version | None] = NOT  # CUDA or ROCm release, as the module says
    available: Maybe[bool] = NOT
    count: Maybe[Gpus] = NOT
    devices: Maybe[tuple[FrameworkDevice, ...]] = NOT
    error: Maybe[str | None] = NOT  # the exact text with which it refuses the GPU; None: none
    error_code: Maybe[Whole | None] = NOT  # CUDA's number where the text or the exception names it
    archs: Maybe[tuple[str, ...]] = NOT
    cudnn: Maybe[Version | None] = NOT  # version that was loaded
    cudnn_error: str | None = None
    # PyTorch: the NCCL that it was linked with or has loaded, RCCL's in a build for ROCm; None: built without.
    nccl: Maybe[Version | None] = NOT
    providers: Maybe[tuple[str, ...] | None] = NOT  # ONNX Runtime: of a real session
    listed: Maybe[tuple[str, ...] | None] = NOT  # ONNX Runtime: the providers that it was built with
    driver_cuda: Maybe[Version | None] = NOT  # CuPy: the driver's CUDA as it says, "12.4"; None: no driver
    cuda_path: Maybe[str | None] = NOT  # CuPy: the CUDA installation that it takes
    nvrtc: Maybe[Version | None] = NOT  # CuPy: the version of its run-time compiler
    nvrtc_error: str | None = None  # CuPy: why its run-time compiler does not load
    mps_built: Maybe[bool | None] = NOT  # PyTorch on macOS: it was built for Apple's GPUs (MPS); None: elsewhere
    # Of the standard library's modules that a file hides (Shadow.standard), those that its import loaded.
    standard: Maybe[tuple[str, ...]] = NOT
    warnings: tuple[str, ...] = ()
    stderr: str = ""  # its last lines
    # Its libraries that ask for an executable stack, where the loader refuses one over that.
    executable_stack: tuple[str, ...] = ()
    libraries: Maybe[tuple[str, ...]] = NOT  # CUDA and ROCm libraries truly mapped


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One framework in one environment."""

    name: str  # torch, tensorflow, cupy, jax, onnxruntime
    distribution: str | None = None  # "cupy-cuda12x"; None: the module is there without metadata
    version: Maybe[Version | None] = NOT
    location: str | None = None  # the package's folder
    others: tuple[tuple[str, str], ...] = ()  # further distributions of the same module: (name, version)
    cuda: Maybe[Version | None] = NOT  # CUDA release it was built for: "12.4" or "12"; None: not for CUDA
    hip: Maybe[Version | None] = NOT  # ROCm release; None: not for ROCm
    variant: Maybe[str] = NOT  # cuda, rocm, cpu, xpu, mps
    archs: Maybe[tuple[str, ...]] = NOT  # what it was compiled for: sm_80, compute_90, gfx1100
    blas: Maybe[tuple[str, ...]] = NOT  # gfx targets of the rocBLAS in its own folder; (): it brings none
    kernels: Maybe[tuple[str, ...]] = NOT  # what .nv_fatbin really holds in earnest
    cudnn: Maybe[Version | None] = NOT  # cuDNN it was built with or asks for: "9.1.0.70", "8"
    needs: Maybe[tuple[Need, ...]] = NOT
    optional: Maybe[tuple[Need, ...]] = NOT  # ONNX Runtime: what providers need that it loads where a program asks
    plugin: Maybe[str | None] = NOT  # JAX: "jax-cuda12-plugin"; None: none
    plugin_version: Maybe[Version | None] = NOT
    backend_version: Maybe[Version | None] = NOT  # JAX: jaxlib
    live: LiveFramework | None = None  # None: nobody asked for an import
