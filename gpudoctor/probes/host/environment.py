"""The environment variables that matter for GPUs, without secrets."""

import re

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

# Masks, search paths and settings of drivers, runtimes, frameworks and schedulers; nothing else is looked at.
_MATTER = pattern(
    r"(?:CUDA_|CUDNN_|NVIDIA_|NVCC_|NV_|HIP_|ROCR_|HSA_|ROCM_|VLLM_|SGLANG_|ROCBLAS_|MIOPEN_|AMD_|ONEAPI_|ZE_|PYTHON|CONDA_|TF_|XLA_|JAX_|TORCH"
    r"|PYTORCH_|NCCL_|RCCL_|GLOO_|APPTAINER_|SINGULARITY_|WSL_|BNB_|BITSANDBYTES_|FLASHINFER_|FLASH_ATTENTION_|TRITON_|NUMBA_|CUPY_|KERAS_|ORT_"
    r"|HF_HOME"
    r"|__NV_|__GLX_VENDOR).*"
    r"|GPU_DEVICE_ORDINAL|HOME|LD_LIBRARY_PATH|LD_PRELOAD|PATH|VIRTUAL_ENV|SLURM_JOB_ID|SLURM_(?:JOB|STEP)_GPUS|KUBERNETES_SERVICE_HOST|container"
    r"|REMOTE_CONTAINERS|ECS_CONTAINER_METADATA_URI(?:_V4)?"
    r"|DS_ACCELERATOR|USE_TF|USE_TORCH|UV_TORCH_BACKEND|TP_SOCKET_IFNAME|LLAMA_CPP_LIB_PATH|HIPBLASLT_TENSILE_LIBPATH|(?:PIP|UV)_(?:EXTRA_)?INDEX_URL|CC|CXX|CUDAHOSTCXX|LIBRARY_PATH|OMP_NUM_THREADS|TMPDIR|XDG_CACHE_HOME"
)
_SECRET = pattern(r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.I)
# Set for every process of a container's build by NVIDIA's and AMD's images, and read by nothing that computes.
_NOISE = pattern(r"NV_.*_(?:PACKAGE|VERSION).*|NVIDIA_PRODUCT_NAME|CONDA_PROMPT_MODIFIER|CONDA_BACKUP_.*")
_LOGIN = pattern(r"(?<=://)[^/@\s]+@")
# A value that long is no setting; a PATH of this length is cut as well.
MOST = 8192


def environment(machine: Machine) -> dict[str, str]:
    """Return the variables that matter, sorted; values of what may be a secret are "***", logins in URLs too."""
    return {
        name: "***" if _SECRET.search(name) else _LOGIN.sub("***@", value)[:MOST]
        for name, value in sorted(machine.env.items())
        if _MATTER.fullmatch(name) and not _NOISE.fullmatch(name)
    }
