"""Containers, WSL, and jobs that see no GPU."""

from typing import Any

import msgspec

from gpudoctor.facts import Facts
from tests.builders import framework, library, live, nvidia_host, plain_host, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks.container.test_container import bare, closed, inside
from tests.checks.healthy_software import DOCKER
from tests.checks.nvidia_machines import having
from tests.checks.wsl.test_wsl import wsl
from tests.machines.registry import machine

NO_DRIVER = framework(live=live(0, error="Found no NVIDIA driver on your system."))
NO_GPU = framework(live=live(0, error="No CUDA GPUs are available", error_code=100))
NO_DEVICE: dict[str, Any] = {
    "nvidia__cuda__code": 100,
    "nvidia__cuda__name": "CUDA_ERROR_NO_DEVICE",
    "nvidia__cuda__text": "no CUDA-capable device is detected",
    "nvidia__cuda__devices": (),
}


@machine("container.no-gpus-passed")
def docker_without_gpus() -> Facts:
    """`docker run` without --gpus, with NVIDIA's image."""
    return with_framework(NO_DRIVER, inside(bare(nvidia_host()), NVIDIA_VISIBLE_DEVICES="all"))


@machine("container.no-gpus-passed")
def pod_without_a_gpu_limit() -> Facts:
    """A pod that asks for no nvidia.com/gpu."""
    facts = inside(bare(nvidia_host()), "kubernetes", NVIDIA_VISIBLE_DEVICES="all")
    return with_framework(NO_DRIVER, having(facts, host__kubernetes=True))


@machine("container.device-access-lost")
def lost_after_a_daemon_reload() -> Facts:
    """`systemctl daemon-reload` on the host took the devices from a running container."""
    facts = inside(closed(nvidia_host(), "EPERM", "nvidiactl", "nvidia0", "nvidia-uvm"))
    return with_framework(
        NO_GPU, having(facts, **NO_DEVICE, nvidia__nvml__code=999, nvidia__nvml__text="Unknown Error")
    )


@machine("container.driver-version-inside")
def driver_installed_inside() -> Facts:
    """The image brought libraries of a driver of its own."""
    names = ("libcuda.so.1", "libnvidia-ml.so.1")
    own = {name: (library(name, "550.54.15"), library(name)) for name in names}
    facts = inside(
        having(
            nvidia_host(),
            nvidia__nvml__code=18,
            nvidia__nvml__text="Driver/library version mismatch",
            nvidia__nvml__libraries=own["libnvidia-ml.so.1"],
            nvidia__cuda__libraries=own["libcuda.so.1"],
            nvidia__cuda__loaded="/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
            nvidia__cuda__code=803,
            nvidia__cuda__name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            nvidia__cuda__text="system has unsupported display driver / cuda driver combination",
            nvidia__cuda__devices=(),
        )
    )
    return with_framework(NO_GPU, facts)


@machine("container.shm-small")
def small_shm_with_eight_gpus() -> Facts:
    """Docker's 64 MiB of /dev/shm for eight GPUs."""
    return having(nv.shared("docker"), host__shm=nv.TINY, gpus=nv.several(8).gpus, nvidia__nvml__count=8)


@machine("container.runtime-not-configured")
def toolkit_not_registered() -> Facts:
    """The toolkit is installed on the host, and Docker has not been told."""
    plain = msgspec.structs.replace(
        DOCKER, docker_runtimes=("io.containerd.runc.v2", "runc"), docker_config_runtimes=()
    )
    return having(nv.several(1), containers=plain)


@machine("container.cdi-not-parsed")
def podman_too_old_for_the_specification() -> Facts:
    """NVIDIA's toolkit was upgraded, and Ubuntu's Podman cannot parse what it writes."""
    plain = msgspec.structs.replace(
        DOCKER,
        podman="/usr/bin/podman",
        podman_version="4.9.3",
        toolkit="1.19.1",
        cdi=("/etc/cdi/nvidia.yaml",),
        cdi_fields={"additionalGids": "0.7.0"},
    )
    return having(nv.several(1), containers=plain)


@machine("wsl.linux-driver-installed")
def linux_driver_in_wsl() -> Facts:
    """Ubuntu's driver packages hide the libraries that Windows brings."""
    folder = "/usr/lib/x86_64-linux-gnu"
    own = library("libcuda.so.1", "570.169", path=f"{folder}/libcuda.so.1")
    return having(
        with_framework(NO_GPU, wsl()),
        nvidia__kernel__packages=(("libnvidia-compute-570", "570.169-0ubuntu0.24.04.1", "ii"),),
        nvidia__cuda__libraries=(own, *wsl().nvidia.cuda.libraries),  # type: ignore[misc]
        nvidia__cuda__loaded=f"{folder}/libcuda.so.570.169",
        gpus=(),
        nvidia__nvml__code=9,
        nvidia__nvml__text="Driver Not Loaded",
        **NO_DEVICE,
    )


@machine("wsl.version-1")
def wsl_1() -> Facts:
    """The distribution runs under WSL 1."""
    facts = wsl(host__wsl=1, nvidia__kernel__nodes=())
    return with_framework(NO_DRIVER, having(facts, host__kernel__release="4.4.0-19041-Microsoft", gpus=(), **NO_DEVICE))


@machine("wsl.no-dxg")
def wsl_without_dxg() -> Facts:
    """WSL 2 without /dev/dxg: GPU support is off, or Windows too old."""
    return with_framework(NO_GPU, having(wsl(nvidia__kernel__nodes=()), gpus=(), **NO_DEVICE))


@machine("visibility.cuda-hides-all")
def job_without_a_gpu() -> Facts:
    """A batch system gave the job no GPU, and says so by an empty CUDA_VISIBLE_DEVICES."""
    return having(
        with_framework(NO_GPU, nv.several(4, 0)),
        host__environment={"CUDA_VISIBLE_DEVICES": ""},
        nvidia__cuda__unmasked_code=0,
        **NO_DEVICE,
    )


@machine()
def server_without_a_gpu_in_docker() -> Facts:
    """NVIDIA's image on a machine that has no GPU at all."""
    return with_framework(NO_DRIVER, inside(plain_host()))
