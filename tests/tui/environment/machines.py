"""Machines whose environments are worth looking at."""

from gpudoctor.facts import CudaHome, Facts, Nvcc, Shadow, Toolkits, UnmetRequirement
from gpudoctor.maybe import Unknown
from tests.builders import framework, library, live, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks.environments import need
from tests.checks.nvidia_machines import having

SITE = "/opt/env/lib/python3.11/site-packages"
CUDNN = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
CUBLAS = f"{SITE}/nvidia/cublas/lib/libcublas.so.12"
SYSTEM_CUDNN = "/usr/lib/x86_64-linux-gnu/libcudnn.so.9"
CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.570.169"

TORCH = framework(
    "torch",
    "2.9.1",
    cuda="12.8",
    cudnn="9.10.2",
    archs=nv.ALL_ARCHS,
    kernels=Unknown("the section headers were stripped"),
    needs=(
        need("libcudnn.so.9", CUDNN, "RUNPATH", version="9.10.2", copies=(SYSTEM_CUDNN,)),
        need("libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.12", "LD_LIBRARY_PATH", version="12.4.5"),
        need("libnccl.so.2"),
    ),
    live=live(1, cudnn="9.10.2", libraries=(f"{CUDNN}.10.2", CUBLAS, CUDA)),
)
TOOLKITS = Toolkits(
    nvccs=(Nvcc(path="/usr/bin/nvcc", real="/usr/local/cuda-12.4/bin/nvcc", version="12.4", on_path=True),),
    home=CudaHome(path="/usr/local/cuda", found_by="CUDA_HOME", exists=True, nvcc="12.4", headers=False),
    installed=(("/usr/local/cuda-12.4", "12.4"),),
    libraries=(
        library("libcudart.so.12", "12.4.127", path="/usr/local/cuda/lib64/libcudart.so.12", kind="toolkit"),
        library("libcudart.so.12", "11.8", path="/opt/old/libcudart.so.12", kind="other", found_by="LD_LIBRARY_PATH"),
    ),
    cxx="/usr/bin/cc",
    cxx_version="gcc 11.4.0",
)
SHADOW = Shadow(module="torch", wins="/code/torch.py", loses=(f"{SITE}/torch",), origin="working directory")
UNMET = UnmetRequirement(package="torch", version="2.9.1", requires="nvidia-cudnn-cu12==9.10.2.21", found="9.1.0.70")


def machine() -> Facts:
    """One GPU, and a PyTorch whose libraries come from here and there."""
    facts = with_framework(TORCH, nv.several(1), shadows=(SHADOW,), unmet=(UNMET,))
    return having(facts, toolkits=TOOLKITS)
