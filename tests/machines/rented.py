"""Machines of clusters and clouds, and the containers that run there."""

import msgspec

from gpudoctor.facts import Cloud, Cluster, Facts
from tests.builders import framework, library, live, nvidia_host, plain_host, with_framework
from tests.checks.cluster.test_cluster import closed, without_devices
from tests.checks.container.test_container import inside
from tests.checks.container.test_handing_in import without_libraries
from tests.checks.nvidia_machines import having
from tests.machines.registry import machine

NO_DRIVER = framework(live=live(0, error="Found no NVIDIA driver on your system."))
NO_GPU = framework(live=live(0, error="No CUDA GPUs are available", error_code=100))
NO_CLUSTER = Cluster(
    scheduler=None,
    job=None,
    granted=None,
    client=None,
    client_of=None,
    has_gpus=None,
    kubelet=False,
    runtime_configured=None,
)
SLURM = msgspec.structs.replace(
    NO_CLUSTER, scheduler="slurm", job="4711", client="/usr/bin/sbatch", client_of="slurm", has_gpus=True
)


def rented(facts: Facts, provider: str, instance: str | None, notebook: str | None = None) -> Facts:
    """The same, rented from a cloud."""
    cloud = Cloud(provider=provider, instance=instance, notebook=notebook, tpu=False)
    return having(facts, host__virtual="kvm", host__platform="vm", cloud=cloud, cluster=NO_CLUSTER)


@machine("cluster.job-without-gpu")
def slurm_job_that_asked_for_no_gpu() -> Facts:
    """A job that was submitted without --gpus, on a node with four."""
    return with_framework(NO_GPU, having(without_devices(closed(nvidia_host(4), 0, 1, 2, 3)), cluster=SLURM))


@machine()
def login_node() -> Facts:
    """A login node without GPU, with PyPI's PyTorch in the home."""
    return with_framework(
        NO_DRIVER, having(plain_host(), cluster=msgspec.structs.replace(SLURM, scheduler=None, job=None))
    )


@machine()
def slurm_job_with_two_of_eight() -> Facts:
    """A job's control group opens two of eight GPUs."""
    job = closed(nvidia_host(8), 2, 3, 4, 5, 6, 7)
    granted = msgspec.structs.replace(SLURM, granted="SLURM_JOB_GPUS=0,1")
    devices = nvidia_host(2)
    facts = having(
        job,
        cluster=granted,
        gpus=devices.gpus,
        nvidia__nvml__count=2,
        nvidia__cuda__devices=devices.nvidia.cuda.devices,
    )
    return with_framework(framework(live=live(2)), facts)


@machine("container.libraries-not-passed")
def apptainer_without_nv() -> Facts:
    """Apptainer shares the host's /dev, and was started without --nv."""
    return with_framework(NO_DRIVER, inside(without_libraries(nvidia_host()), "apptainer"))


@machine("container.libraries-not-passed")
def privileged_without_gpus() -> Facts:
    """With --privileged all of /dev is there, but no library is handed in; the image has the toolkit's stub."""
    stub = library("libcuda.so.1", None, kind="stub", path="/usr/local/cuda/lib64/stubs/libcuda.so.1")
    return with_framework(NO_DRIVER, inside(without_libraries(nvidia_host(), stub), "docker"))


@machine("cloud.fewer-gpus")
def instance_that_lost_a_gpu() -> Facts:
    """Seven of the eight GPUs of a p4d.24xlarge are on the bus."""
    return with_framework(framework(live=live(7)), rented(nvidia_host(7), "aws", "p4d.24xlarge"))


@machine()
def cpu_instance() -> Facts:
    """A machine of a cloud without GPU, with PyPI's PyTorch."""
    return with_framework(NO_DRIVER, rented(plain_host(), "aws", "m7i.xlarge"))


@machine()
def notebook_on_a_processor() -> Facts:
    """Colab without an accelerator chosen."""
    facts = rented(plain_host(), "gcp", None, "colab")
    return with_framework(NO_DRIVER, inside(facts, "docker", NVIDIA_VISIBLE_DEVICES="all", COLAB_GPU=""))
