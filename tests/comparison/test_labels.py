"""Places in the facts have the names that people use; a place without one keeps its path."""

import pytest

from gpudoctor.comparison.labels import label
from gpudoctor.comparison.rules import FACTS


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("gpus.0-3,6.name", "GPU 0-3,6"),
        ("gpus.3 at 0000:04:00.0", "GPU 3 at 0000:04:00.0"),
        ("gpus.3.link_width", "GPU 3: PCIe lanes"),
        ("gpus.3.compute_mode", "GPU 3: compute mode"),
        ("pci.gpu 1.bar1", "PCI gpu 1: BAR1"),
        ("nvidia.kernel.loaded", "NVIDIA driver"),
        ("nvidia.kernel.nodes./dev/nvidia1-7", "/dev/nvidia1-7"),
        ("nvidia.kernel.nodes./dev/nvidia0.mode", "/dev/nvidia0 mode"),
        ("nvidia.kernel.fabric_manager", "Fabric Manager"),
        ("nvidia.cuda.version", "CUDA version of the driver"),
        ("nvidia.cuda.devices.0.memory", "CUDA device 0: memory"),
        ("nvidia.nvml.libraries.libnvidia-ml.so.1.version", "libnvidia-ml.so.1 version"),
        ("host.environment.CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        ("host.kernel.release", "kernel"),
        ("log.events.xid 79", "kernel log: xid 79"),
        ("pythons.1.version", "Python"),
        ("pythons.2.version", "Python 2"),
        ("pythons.1.packages.nvidia-cudnn-cu12.version", "package nvidia-cudnn-cu12"),
        ("pythons.1.frameworks.torch.version", "PyTorch"),
        ("pythons.1.frameworks.torch.live.cudnn", "PyTorch: cuDNN loaded"),
        ("pythons.1.frameworks.jax.live.count", "JAX: GPUs seen"),
        ("smoke.runs.pytorch GPU 0.tests.matmul bf16.figures.rate", "pytorch GPU 0, matmul bf16: rate"),
        ("amd.boards.0.performance_level", "amd.boards.0.performance_level"),
        ("driver.library-mismatch", "driver.library-mismatch"),
        ("pythons.1.frameworks.other.version", "pythons.1.frameworks.other.version"),
    ],
)
def test_the_name_of_a_place(path: str, name: str) -> None:
    assert label(path) == name


def test_no_name_is_empty_or_keeps_a_blank() -> None:
    for rule in FACTS:
        name = label(rule.path.replace("*", "1"))
        assert name == name.strip() != ""
