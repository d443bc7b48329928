"""Extensions of PyTorch that were built for the CPU alone, or without their compiled part."""

from typing import Any

import pytest

from gpudoctor.checks.packages.built_without_cuda import built_without_cuda
from gpudoctor.facts import Extension, Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import SITE, change_toolkits, commands, environment, machine, one, package, torch

TORCH = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so")
CUDA = (*TORCH, "libcudart.so.12", "libc10_cuda.so", "libtorch_cuda.so")


def having(
    name: str, version: str, libraries: dict[str, tuple[str, ...]], number: str = "2.4.1", **changes: Any
) -> Facts:
    found = tuple(
        Extension(package=name, version=version, path=f"{SITE}/{path}", needed=needed)
        for path, needed in libraries.items()
    )
    names = tuple(path.rpartition("/")[2] for path in libraries)
    own = package(name, version, **({"libraries": names, "files": 400} | changes))
    facts = environment(torch(number, cuda="12.4"), packages=(own,), facts=machine())
    return change(facts, "pythons.0.extensions", found)


DETECTRON = having("detectron2", "0.6", {"detectron2/_C.cpython-311-x86_64-linux-gnu.so": TORCH})
MMCV = having("mmcv", "2.2.0", {})


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            DETECTRON,
            "detectron2 0.6 was built without code for GPUs, PyTorch for CUDA 12.4: its operators (ROIAlign, "
            "deformable convolutions) raise RuntimeError: Not compiled with GPU support.",
        ),
        (having("detectron2", "0.6", {"detectron2/_C.so": CUDA}), None),
        (having("detectron2", "0.6", {}), None),  # its code was not read
        (
            having("groundingdino", "0.1.0", {}),
            "groundingdino 0.1.0 was built without its compiled part, PyTorch for CUDA 12.4: inference raises "
            "NameError: name '_C' is not defined ('Failed to load custom C++ ops. Running on CPU mode Only!').",
        ),
        (
            MMCV,
            "mmcv 2.2.0 was built without its compiled part, PyTorch for CUDA 12.4: everything of mmcv.ops fails: No "
            "module named 'mmcv._ext'.",
        ),
        (having("mmcv", "2.2.0", {"mmcv/_ext.so": CUDA}), None),
        (having("mmcv", "1.7.2", {}), None),  # it never has any
        (having("mmcv", "2.2.0", {}, files=9), None),  # editable: its files lie elsewhere
        (having("mmcv", "2.2.0", {}, installer="conda"), None),
        (
            having(
                "torch-scatter",
                "2.1.2",
                {"torch_scatter/_scatter_cpu.so": TORCH, "torch_scatter/_version_cpu.so": TORCH},
            ),
            "torch-scatter 2.1.2 was built without code for GPUs, PyTorch for CUDA 12.4: it raises RuntimeError: Not "
            "compiled with CUDA support.",
        ),
        (having("torch-scatter", "2.1.2", {"a/_scatter_cpu.so": TORCH, "a/_scatter_cuda.so": CUDA}), None),
        (having("torch-scatter", "2.1.2", {"a/_version_cuda.so": TORCH}), None),
        (having("apex", "0.9.10.dev0", {}), None),  # another project
        (change(DETECTRON, "pythons.0.frameworks.0.cuda", None), None),
    ],
)
def test_built_without_cuda(facts: Facts, said: str | None) -> None:
    assert one(built_without_cuda, facts) == (("problem", said) if said else ("pass", ""))


def test_what_was_not_read_is_unknown() -> None:
    facts = change(DETECTRON, "pythons.0.extensions", Unknown("not read (--quick)"))
    assert one(built_without_cuda, facts) == ("unknown", "not read (--quick)")
    assert one(built_without_cuda, change(amd_host(), "pythons", DETECTRON.pythons)) == ("pass", "")


def test_it_is_built_with_cuda() -> None:
    typed = commands(built_without_cuda, DETECTRON)
    assert "nvcc of CUDA 12.4 (CUDA Toolkit, or a -devel image), which is not installed" in typed
    assert (
        "FORCE_CUDA=1 /opt/env/bin/python -m pip install --force-reinstall --no-deps --no-build-isolation "
        "--no-cache-dir git+https://github.com/facebookresearch/detectron2.git"
    ) in typed
    typed = commands(built_without_cuda, MMCV)
    assert "MMCV_WITH_OPS=1 FORCE_CUDA=1 /opt/env/bin/python -m pip install" in typed
    assert "--no-build-isolation --no-cache-dir --no-binary mmcv mmcv==2.2.0" in typed
    successor = commands(built_without_cuda, having("auto-gptq", "0.7.1", {}))
    assert "pip install --no-build-isolation gptqmodel" in successor


def test_a_wheel_for_this_pytorch_comes_first() -> None:
    facts = having("torch-sparse", "0.6.18", {"torch_sparse/_spmm_cpu.so": TORCH})
    first = commands(built_without_cuda, facts).splitlines()[:2]
    assert first[0].startswith("Install the build of torch-sparse for PyTorch 2.4 and CUDA 12.4.")
    assert first[1].endswith(
        "--find-links https://data.pyg.org/whl/torch-2.4.0+cu124.html torch-sparse==0.6.18+pt24cu124"
    )
    newer = having("torch-cluster", "1.6.3", {"torch_cluster/_knn_cpu.so": TORCH}, "2.9.1")
    newer = change(newer, "pythons.0.frameworks.0.cuda", "12.8")
    assert "data.pyg.org" not in commands(built_without_cuda, newer)
    with_nvcc = change(facts, "toolkits", change_toolkits())
    assert "FORCE_CUDA=1" in commands(built_without_cuda, with_nvcc)
