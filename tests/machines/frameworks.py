"""The driver works, and a framework does not."""

from typing import Any

import msgspec

from gpudoctor.facts import DriverLibrary, Extension, Facts, FileOverlap, Need, Package, Shadow, UnmetRequirement
from tests.builders import framework, live
from tests.checks.environments import BLACKWELL, PASCAL, SITE, change_toolkits, environment, need, package, torch
from tests.checks.healthy_nvidia import several
from tests.checks.nvidia_machines import having
from tests.machines.registry import machine

NEW_DRIVER: dict[str, Any] = {"nvidia__cuda__version": "13.0", "nvidia__nvml__cuda_version": "13.0"}
OLD_DRIVER: dict[str, Any] = {"nvidia__cuda__version": "12.2", "nvidia__nvml__cuda_version": "12.2"}


def on(facts: Facts, *frameworks: Any, packages: tuple[Package, ...] = (), **changes: Any) -> Facts:
    """The machine with one environment."""
    return environment(*frameworks, packages=packages, facts=facts, **changes)


def refusing(error: str, **changes: Any) -> Any:
    """A framework that was imported and uses no GPU."""
    return live(0, error=error, **changes)


CPU: dict[str, Any] = {
    "cuda": None,
    "variant": "cpu",
    "archs": (),
    "live": refusing("Torch not compiled with CUDA enabled"),
}


@machine("pytorch.cpu-build")
def cpu_wheel() -> Facts:
    """Pip took PyTorch from the index of CPU builds."""
    found = torch(
        "2.9.1+cpu", cuda=None, variant="cpu", archs=(), live=refusing("Torch not compiled with CUDA enabled")
    )
    return on(having(several(1), **NEW_DRIVER), found)


@machine("pytorch.cpu-build")
def cpu_build_of_conda() -> Facts:
    """Conda solved for the CPU build, because another package held CUDA back."""
    conda: dict[str, Any] = {
        "kind": "conda",
        "manager": "conda",
        "path": "/home/ada/miniforge3/envs/train/bin/python",
        "prefix": "/home/ada/miniforge3/envs/train",
    }
    return on(having(several(1), **NEW_DRIVER), torch("2.5.1", **CPU), **conda)


@machine("pytorch.arch-missing")
def blackwell_with_older_wheels() -> Facts:
    """A new card with wheels from before it."""
    facts = several(1, changes=BLACKWELL, device="2b85", name="GB202 [GeForce RTX 5090]")
    archs = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
    error = "CUDA error: no kernel image is available for execution on the device"
    found = torch("2.6.0+cu124", cuda="12.4", archs=archs, live=live(1, error=error, error_code=209))
    return on(having(facts, **NEW_DRIVER), found)


@machine("pytorch.arch-missing")
def pascal_with_cuda_13() -> Facts:
    """An old card with wheels that have dropped it."""
    facts = several(1, changes=PASCAL, device="1b06", name="GP102 [GeForce GTX 1080 Ti]")
    archs = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")
    error = "CUDA error: no kernel image is available for execution on the device"
    found = torch("2.9.1+cu130", cuda="13.0", archs=archs, live=live(1, error=error, error_code=209))
    return on(having(facts, nvidia__kernel__flavor="proprietary", **NEW_DRIVER), found)


@machine("pytorch.driver-too-old")
def cuda_13_on_a_driver_for_12() -> Facts:
    """PyPI's newest PyTorch wants a driver of branch 580."""
    error = "The NVIDIA driver on your system is too old (found version 12020)."
    found = torch("2.12.0", cuda="13.0", live=refusing(error, error_code=35))
    return on(having(several(1), **OLD_DRIVER), found)


@machine("tensorflow.libraries-missing")
def tensorflow_without_its_extra() -> Facts:
    """`pip install tensorflow` brings no CUDA libraries; `tensorflow[and-cuda]` would."""
    needs = tuple(
        Need(soname=name, needed_by="tensorflow", path=None)
        for name in ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9")
    )
    found = framework(
        "tensorflow",
        "2.20.0",
        cuda="12.5.1",
        cudnn="9",
        archs=("sm_60", "sm_70", "sm_80", "sm_89", "compute_90"),
        needs=needs,
        live=refusing("Cannot dlopen some GPU libraries."),
    )
    return on(several(1), found)


@machine("cupy.wrong-cuda-major")
def cupy_for_another_cuda() -> Facts:
    """cupy-cuda11x in an environment whose CUDA is 12."""
    found = framework(
        "cupy",
        "13.4.1",
        distribution="cupy-cuda11x",
        cuda="11",
        archs=(),
        needs=(need("libnvrtc.so.11.2"), need("libcublas.so.11")),
        live=live(1, nvrtc=None, nvrtc_error="libnvrtc.so.11.2: cannot open shared object file"),
    )
    folder = "/usr/local/cuda-12.6/lib64"
    toolkit = tuple(
        DriverLibrary(soname=name, path=f"{folder}/{name}", real=f"{folder}/{name}", kind="toolkit", version="12.6")
        for name in ("libnvrtc.so.12", "libcudart.so.12", "libcublas.so.12")
    )
    return on(having(several(1), toolkits=change_toolkits(libraries=toolkit)), found)


@machine("cupy.several-packages")
def two_cupys() -> Facts:
    """cupy-cuda12x over cupy-cuda11x: each overwrites the other."""
    found = framework(
        "cupy",
        "13.4.1",
        distribution="cupy-cuda12x",
        cuda="12",
        archs=(),
        others=(("cupy-cuda11x", "13.4.1"),),
        live=live(1),
    )
    return on(several(1), found, packages=(package("cupy-cuda11x", "13.4.1"),))


@machine("jax.cpu-only")
def jax_without_its_plugin() -> Facts:
    """`pip install jax` brings the CPU alone."""
    found = framework(
        "jax", "0.7.2", cuda=None, variant="cpu", archs=(), plugin=None, backend_version="0.7.2", live=live(0)
    )
    return on(several(1), found)


@machine("jax.plugin-skew")
def jax_plugin_of_another_version() -> Facts:
    """Jax was upgraded and its CUDA plugin was not."""
    found = framework(
        "jax",
        "0.7.2",
        cuda="12",
        archs=(),
        plugin="jax-cuda12-plugin",
        plugin_version="0.6.0",
        backend_version="0.7.2",
        live=refusing("jax_cuda12_plugin version 0.6.0 is not compatible with jax version 0.7.2"),
    )
    return on(several(1), found)


@machine("onnxruntime.cpu-package")
def onnxruntime_for_the_cpu() -> Facts:
    """The package without -gpu, where nothing else wants the GPU."""
    found = framework(
        "onnxruntime",
        "1.23.0",
        cuda=None,
        variant="cpu",
        archs=(),
        live=live(0, listed=("CPUExecutionProvider",), providers=("CPUExecutionProvider",)),
    )
    return on(several(1), found)


@machine("python.numpy-2")
def numpy_2_under_old_binaries() -> Facts:
    """PyTorch 2.2 was compiled against NumPy 1, and NumPy 2 came with something else."""
    error = "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.0 as it may crash."
    found = torch("2.2.2", cuda="12.1", live=live(1, warnings=(error,)))
    return on(several(1), found, packages=(package("numpy", "2.1.0"),))


@machine("python.shadowed-module")
def a_file_called_torch() -> Facts:
    """torch.py in the working directory is imported in PyTorch's place."""
    shadow = Shadow(
        module="torch", wins="/home/ada/train/torch.py", loses=(f"{SITE}/torch",), origin="working directory"
    )
    return on(having(several(1), host__working_directory_shadows=("torch.py",)), torch(), shadows=(shadow,))


@machine("libraries.cudnn-pin-broken")
def cudnn_replaced_under_pytorch() -> Facts:
    """Another package brought a newer cuDNN than PyTorch was built with."""
    found = torch("2.5.1", cuda="12.4", cudnn="9.1.0.70")
    unmet = UnmetRequirement(package="torch", version="2.5.1", requires="nvidia-cudnn-cu12==9.1.0.70", found="9.5.0.50")
    torch_package = package("torch", "2.5.1", requires=("nvidia-cudnn-cu12==9.1.0.70",))
    facts = on(several(1), found, packages=(package("nvidia-cudnn-cu12", "9.5.0.50"),), unmet=(unmet,))
    python = facts.pythons[0]
    assert isinstance(python.packages, tuple)
    kept = tuple(torch_package if p.name == "torch" else p for p in python.packages)
    return having(facts, pythons=(msgspec.structs.replace(python, packages=kept),))


@machine("onnxruntime.both-packages")
def onnxruntime_twice() -> Facts:
    """Onnxruntime was installed over onnxruntime-gpu, and took its files."""
    found = framework(
        "onnxruntime",
        "1.23.0",
        distribution="onnxruntime",
        cuda=None,
        variant="cpu",
        archs=(),
        others=(("onnxruntime-gpu", "1.22.0"),),
        live=live(0, listed=("CPUExecutionProvider",), providers=("CPUExecutionProvider",)),
    )
    overlap = FileOverlap(packages=("onnxruntime", "onnxruntime-gpu"), files=("onnxruntime/__init__.py",))
    return on(several(1), found, packages=(package("onnxruntime-gpu", "1.22.0"),), overlaps=(overlap,))


@machine("packages.mixed-releases")
def flashinfer_kernels_of_another_release() -> Facts:
    """FlashInfer was upgraded, the package with its compiled kernels was not."""
    names = (("flashinfer-python", "0.6.11"), ("flashinfer-jit-cache", "0.6.9+cu126"))
    return on(several(1), torch(), packages=tuple(package(*each) for each in names))


@machine("libraries.wheel-incomplete")
def a_full_disk_cut_pytorch() -> Facts:
    """The disk was full while pip unpacked PyTorch: a library of it ends in the middle, and torchvision finds less."""
    vision = package("torchvision", "0.22.1", requires=("torch==2.7.1",))
    lacks = Extension(
        package="torchvision",
        version="0.22.1",
        path=f"{SITE}/torchvision/_C.so",
        unresolved=("_ZN3c104cuda9warn_once",),
    )
    facts = on(several(1), torch(live=live(died="SIGBUS")), packages=(vision,), extensions=(lacks,))
    python = facts.pythons[0]
    assert isinstance(python.packages, tuple)
    cut = package("torch", "2.7.1", cut=("torch/lib/libtorch_cuda.so",))
    kept = tuple(cut if p.name == "torch" else p for p in python.packages)
    return having(facts, pythons=(msgspec.structs.replace(python, packages=kept),))


@machine("packages.torchvision-mismatch")
def torchvision_and_torchaudio_of_an_older_release() -> Facts:
    """PyTorch was upgraded without the two packages that are compiled against it."""
    both = (
        package("torchvision", "0.20.1", requires=("torch==2.5.1",)),
        package("torchaudio", "2.5.1", requires=("torch==2.5.1",)),
    )
    unmet = tuple(
        UnmetRequirement(package=p.name, version=p.version, requires="torch==2.5.1", found="2.7.1") for p in both
    )
    lacks = tuple(
        Extension(package=p.name, version=p.version, path=f"{SITE}/{p.name}/_C.so", unresolved=("_ZN3c104warnE",))
        for p in both
    )
    return on(several(1), torch(), packages=both, unmet=unmet, extensions=lacks)
