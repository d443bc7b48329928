"""Healthy machines without NVIDIA's GPUs, and healthy environments beside one, each odd in its own way."""

from typing import Any

import msgspec

from gpudoctor.facts import (
    Amd,
    ContainerHost,
    CudaHome,
    Dkms,
    Facts,
    Framework,
    Host,
    LogEvent,
    Need,
    Nvcc,
    Package,
    Python,
    Toolkits,
)
from gpudoctor.facts.python import CondaPackage
from gpudoctor.maybe import Unknown
from tests.builders import card, framework, gpu, host, library, live, plain_host, python, with_framework
from tests.checks.amd_machines import IGPU, RADEON, amd_host, kfd, render
from tests.checks.environments import package
from tests.checks.healthy_nvidia import SHM, TINY, TORCH, also, intel, several, shared
from tests.checks.nvidia_machines import having

SITE = "/opt/env/lib/python3.11/site-packages"
PYPI = framework(live=live(0, error="Found no NVIDIA driver on your system."))
CPU = framework(version="2.9.1+cpu", cuda=None, variant="cpu", archs=(), live=live(0))
MODULES = "/opt/apps/cuda/12.4/lib64"
CUBLAS = f"{SITE}/nvidia/cublas/lib/libcublas.so.12"
# What the run-time search path of PyTorch's wheels finds first, whatever LD_LIBRARY_PATH names.
NEED = Need(
    soname="libcublas.so.12",
    needed_by="torch/lib/libtorch_cuda.so",
    path=CUBLAS,
    how="RPATH",
    version="12.8.4.1",
    copies=(f"{MODULES}/libcublas.so.12",),
    wheel=CUBLAS,
    wheel_version="12.8.4.1",
)
DOCKER = ContainerHost(
    docker="/usr/bin/docker",
    docker_version="28.1.1",
    docker_runtimes=("io.containerd.runc.v2", "nvidia", "runc"),
    docker_default_runtime="runc",
    docker_snap=False,
    docker_rootless=False,
    docker_desktop=False,
    docker_cgroup_driver="systemd",
    docker_config_runtimes=("nvidia",),
    podman=None,
    toolkit="1.18.0",
    no_cgroups=False,
    cdi=(),
    cdi_driver=None,
)
OLDER_TOOLKIT = Toolkits(
    nvccs=(Nvcc(path="/usr/local/cuda/bin/nvcc", real="/usr/local/cuda-12.4/bin/nvcc", version="12.4", on_path=True),),
    home=CudaHome(path="/usr/local/cuda", found_by="/usr/local/cuda", exists=True, nvcc="12.4", headers=True, lacks=()),
    installed=(("/usr/local/cuda-12.4", "12.4"),),
    libraries=(library("libcudnn.so.9", "9.4.0", kind="system"),),
    cxx="/usr/bin/c++",
    cxx_version="gcc 13.3.0",
)


def env(
    *frameworks: Framework, packages: tuple[Package, ...] = (), facts: Facts | None = None, **changes: Any
) -> Facts:
    """A machine with one RTX 4090 and one environment."""
    made = python(*frameworks, **changes)
    assert isinstance(made.packages, tuple)
    made = msgspec.structs.replace(made, packages=(*made.packages, *packages))
    return msgspec.structs.replace(facts or several(1), pythons=(made,))


def torch(**changes: Any) -> Framework:
    """A PyTorch for CUDA 12.8 that sees the GPU."""
    return msgspec.structs.replace(TORCH, live=live(1), **changes)


def on_cpu(name: str, version: str, **changes: Any) -> Framework:
    """A framework without GPU support."""
    plain: dict[str, Any] = {"cuda": None, "variant": "cpu", "archs": (), "live": live(0)}
    return framework(name, version, **(plain | changes))


def without_nvidia(*frameworks: Framework, **changes: Any) -> Facts:
    """A machine without NVIDIA's GPU, driver or libraries."""
    facts = msgspec.structs.replace(plain_host(), pythons=(python(*frameworks),) if frameworks else ())
    return having(facts, **changes)


def apu(*frameworks: Framework, **changes: Any) -> Facts:
    """A processor with AMD's graphics, on which nobody wants ROCm; its nodes are closed to this user."""
    own = msgspec.structs.replace(IGPU, index=0, address="0000:01:00.0")
    closed = {"kfd": (kfd(error="EACCES"),), "render": (render(error="EACCES"),)}
    facts = amd_host((own,), rocm=None, rocm_path=None, **(closed | changes))
    return msgspec.structs.replace(facts, pythons=(python(*frameworks),))


def partitions() -> Facts:
    """Eight MI300X in the mode CPX: 64 GPUs on eight cards."""
    plain: dict[str, Any] = {"vendor": "amd", "name": "AMD Instinct MI300X", "gfx": "gfx942", "capability": None}
    each = tuple(gpu(i, uuid=f"GPU-{i:016x}", address=f"0000:{i // 8 + 1:02x}:00.0", **plain) for i in range(64))
    cards = tuple(card(i, driver="amdgpu", **(plain | {"vendor": "1002"})) for i in range(8))
    return having(amd_host(each, archs=("gfx942",)), pci=cards, host__shm=SHM)


def beside_an_igpu() -> Facts:
    """A workstation whose processor has AMD's graphics: amdgpu runs, nobody wants ROCm, and NVIDIA computes."""
    igpu = card(5, vendor="1002", driver="amdgpu", gfx="gfx1036", capability=None, integrated=True, name="Raphael")
    own = Amd(
        loaded=True,
        version=None,
        kfd=(kfd(error="EACCES"),),
        render=(),
        topology=True,
        dkms=None,
        packages=(),
        rocm=None,
        rocm_path=None,
        blacklisted=False,
        dxg=False,
    )
    return having(also(several(1), igpu), amd=own)


def two_pythons() -> Facts:
    """An environment with CUDA, and the system's Python without any framework."""
    system: Python = python(path="/usr/bin/python3", prefix="/usr", kind="system", externally_managed=True)
    return having(several(1), pythons=(python(torch()), system))


NO_DOCKER_ANSWER = Unknown("permission denied while trying to connect to the Docker daemon socket")
RUNNER = host(container="docker", platform="container", shm=TINY)
CONDA = (
    CondaPackage(name="python", version="3.11.7", build="h1"),
    CondaPackage(name="numpy", version="2.1.0", build="py311"),
)

OTHERS = {
    "an APU with PyTorch for the CPU": apu(CPU),
    "an APU with PyPI's PyTorch": apu(PYPI),
    "ROCm beside an integrated GPU": amd_host((RADEON, msgspec.structs.replace(IGPU, address="0000:02:00.0"))),
    "MI300X in the mode CPX": partitions(),
    "an Intel laptop": without_nvidia(CPU, pci=(intel(),), host__platform="laptop"),
    "a CPU-only server with PyPI's PyTorch": without_nvidia(PYPI),
    "a CI runner": without_nvidia(PYPI, host=RUNNER),
    "a Mac": Facts(host=Host(system="Darwin", architecture="arm64"), pci=()),
    "NVIDIA beside an integrated AMD GPU": beside_an_igpu(),
    "two interpreters": two_pythons(),
    "a nightly build": env(
        torch(version="2.11.0.dev20260901+cu130", cuda="13.0"),
        facts=having(several(1), nvidia__cuda__version="13.0", nvidia__nvml__cuda_version="13.0"),
    ),
    "a build from source for one architecture": env(
        torch(version="2.10.0a0+git1234abc", archs=("sm_89",), location="/home/ada/pytorch/torch")
    ),
    "code for the family only": env(torch(archs=("sm_80", "sm_86", "sm_90"))),
    "an older minor of the driver's CUDA": env(torch(cuda="12.9")),
    "JAX for the CPU as a by-product": env(torch(), on_cpu("jax", "0.7.2", plugin=None, backend_version="0.7.2")),
    "tensorflow-cpu beside PyTorch": env(torch(), on_cpu("tensorflow", "2.20.0", distribution="tensorflow-cpu")),
    "ONNX Runtime for the CPU beside PyTorch": env(torch(), on_cpu("onnxruntime", "1.23.0")),
    "an old NumPy": env(torch(), packages=(package("numpy", "1.24.4"), package("scipy", "1.10.1"))),
    "conda with pip's PyTorch": env(
        torch(), kind="conda", manager="conda", conda=CONDA, packages=(package("numpy", "2.1.0"),)
    ),
    "an older toolkit and cuDNN beside complete wheels": env(
        torch(needs=(NEED,)), facts=having(several(1), toolkits=OLDER_TOOLKIT)
    ),
    "Apptainer with modules in LD_LIBRARY_PATH": env(
        torch(needs=(NEED,)),
        facts=shared("apptainer", host__environment={"LD_LIBRARY_PATH": f"/.singularity.d/libs:{MODULES}"}),
    ),
    "Docker with the toolkit": having(several(1), containers=DOCKER),
    "Docker that this user may not ask": having(
        several(1),
        containers=msgspec.structs.replace(
            DOCKER,
            docker_version=NO_DOCKER_ANSWER,
            docker_runtimes=NO_DOCKER_ANSWER,
            docker_rootless=NO_DOCKER_ANSWER,
            docker_desktop=NO_DOCKER_ANSWER,
        ),
    ),
    "Secure Boot with a signed module": having(
        several(1),
        host__kernel__secure_boot=True,
        host__kernel__lockdown="integrity",
        log__events=(LogEvent(kind="module-unsigned", text="nvidia: module verification failed"),),
    ),
    "a computer that has slept": having(
        several(1),
        log__events=(
            LogEvent(kind="suspend", text="PM: suspend entry"),
            LogEvent(kind="resume", text="PM: suspend exit"),
        ),
    ),
    "DKMS without a module for the next kernel": having(
        several(1),
        nvidia__kernel__dkms=(
            Dkms(module="nvidia", version="570.169", kernel="6.8.0-60-generic", state="installed"),
            Dkms(module="nvidia", version="570.169", kernel="6.14.0-2-generic", state="added"),
        ),
    ),
    "no PyTorch beside a small /dev/shm": with_framework(on_cpu("onnxruntime", "1.23.0"), without_nvidia(host=RUNNER)),
}
