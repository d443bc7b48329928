"""The environment variables that matter for GPUs, without secrets."""

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

# Masks, search paths and settings of drivers, runtimes, frameworks and schedulers; nothing else is looked at.
_MATTER = (  # by their beginning
    "CUDA_ CUDNN_ NVIDIA_ NVCC_ NV_ HIP_ ROCR_ HSA_ ROCM_ VLLM_ SGLANG_ ROCBLAS_ MIOPEN_ AMD_ ONEAPI_ ZE_ "
    "PYTHON CONDA_ TF_ XLA_ JAX_ TORCH PYTORCH_ NCCL_ RCCL_ GLOO_ APPTAINER_ SINGULARITY_ WSL_ BNB_ "
    "BITSANDBYTES_ FLASHINFER_ FLASH_ATTENTION_ TRITON_ NUMBA_ CUPY_ KERAS_ ORT_ HF_HOME __NV_ __GLX_VENDOR "
)
_WHOLE = (  # by their name
    "ALL_PROXY CC CMPLR_ROOT CUDAHOSTCXX CXX DG_JIT_NVCC_COMPILER DG_JIT_USE_NVRTC DS_ACCELERATOR "
    "ECS_CONTAINER_METADATA_URI ECS_CONTAINER_METADATA_URI_V4 FI_PROVIDER GPU_DEVICE_ORDINAL HF_HUB_ENABLE_HF_TRANSFER "
    "HIPBLASLT_TENSILE_LIBPATH HOME KUBERNETES_SERVICE_HOST LD_LIBRARY_PATH LD_PRELOAD LIBRARY_PATH "
    "LLAMA_CPP_LIB_PATH LOCAL_WORLD_SIZE MPLBACKEND NNODES OMP_NUM_THREADS PATH "
    "PIP_EXTRA_INDEX_URL PIP_INDEX_URL REMOTE_CONTAINERS SGL_ENABLE_JIT_DEEPGEMM SLURM_JOB_GPUS SLURM_JOB_ID "
    "SLURM_JOB_NUM_NODES SLURM_STEP_GPUS TMPDIR TP_SOCKET_IFNAME USE_TF USE_TORCH UV_EXTRA_INDEX_URL UV_INDEX_URL "
    "UV_TORCH_BACKEND VIRTUAL_ENV WORLD_SIZE XDG_CACHE_HOME all_proxy container "
)
_BEGINNINGS, _NAMES = tuple(_MATTER.split()), frozenset(_WHOLE.split())
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH")
_LOGIN = pattern(r"(?<=://)[^/@\s]+@")
# A value that long is no setting; a PATH of this length is cut as well.
MOST = 8192


def environment(machine: Machine) -> dict[str, str]:
    """Return the variables that matter, sorted; values of what may be a secret are "***", logins in URLs too."""
    return {
        name: "***" if any(part in name.upper() for part in _SECRET) else _without_login(_kind(name, value))[:MOST]
        for name, value in sorted(machine.env.items())
        if (name.startswith(_BEGINNINGS) or name in _NAMES) and not _is_noise(name)
    }


def _kind(name: str, value: str) -> str:
    """Of a proxy its kind alone: which machine it is, is nobody's business."""
    return f"{value.partition('://')[0]}://***" if name.lower().endswith("_proxy") and "://" in value else value


def _without_login(value: str) -> str:
    return _LOGIN.sub("***@", value) if "@" in value else value


def _is_noise(name: str) -> bool:
    """Whether NVIDIA's and AMD's images, or conda, set it for every process, and nothing that computes reads it."""
    if name.startswith("NV_"):
        return "_PACKAGE" in name[3:] or "_VERSION" in name[3:]
    return name in ("NVIDIA_PRODUCT_NAME", "CONDA_PROMPT_MODIFIER") or name.startswith("CONDA_BACKUP_")
