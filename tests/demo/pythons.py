"""The demos' environments: what pip or uv puts beside PyTorch, library by library."""

from typing import Any, NamedTuple

from gpudoctor.facts import Framework, FrameworkDevice, LiveFramework, Need, Package, Python
from gpudoctor.maybe import Unknown

UNASKED = Unknown("the framework was not asked for it")
# What PyTorch needs besides, in November 2024 and a year later.
IN_2024 = {
    "filelock": "3.16.1",
    "fsspec": "2024.10.0",
    "jinja2": "3.1.4",
    "markupsafe": "3.0.2",
    "mpmath": "1.3.0",
    "networkx": "3.4.2",
    "setuptools": "75.6.0",
    "sympy": "1.13.1",
    "typing-extensions": "4.12.2",
}
IN_2025 = {
    "filelock": "3.20.0",
    "fsspec": "2025.10.0",
    "jinja2": "3.1.6",
    "markupsafe": "3.0.3",
    "mpmath": "1.3.0",
    "networkx": "3.5",
    "setuptools": "80.9.0",
    "sympy": "1.14.0",
    "typing-extensions": "4.15.0",
}


class Wheel(NamedTuple):
    """One of NVIDIA's wheels: its folder under nvidia/, and the libraries in it that PyTorch maps."""

    name: str
    version: str
    folder: str
    files: int
    libraries: tuple[str, ...]


CUDNN = tuple(
    f"libcudnn{part}.so.9" for part in ("", "_adv", "_cnn", "_engines_precompiled", "_graph", "_heuristic", "_ops")
)
# The pins of PyTorch 2.5.1 and 2.9.1 as they lie in their metadata on PyPI.
CU124 = (
    Wheel("nvidia-cublas-cu12", "12.4.5.8", "cublas", 20, ("libcublas.so.12", "libcublasLt.so.12")),
    Wheel("nvidia-cuda-cupti-cu12", "12.4.127", "cuda_cupti", 57, ("libcupti.so.12",)),
    Wheel("nvidia-cuda-nvrtc-cu12", "12.4.127", "cuda_nvrtc", 14, ("libnvrtc.so.12",)),
    Wheel("nvidia-cuda-runtime-cu12", "12.4.127", "cuda_runtime", 109, ("libcudart.so.12",)),
    Wheel("nvidia-cudnn-cu12", "9.1.0.70", "cudnn", 41, CUDNN),
    Wheel("nvidia-cufft-cu12", "11.2.1.3", "cufft", 18, ("libcufft.so.11",)),
    Wheel("nvidia-curand-cu12", "10.3.5.147", "curand", 29, ("libcurand.so.10",)),
    Wheel("nvidia-cusolver-cu12", "11.6.1.9", "cusolver", 17, ("libcusolver.so.11",)),
    Wheel("nvidia-cusparse-cu12", "12.3.1.170", "cusparse", 14, ("libcusparse.so.12",)),
    Wheel("nvidia-nccl-cu12", "2.21.5", "nccl", 12, ("libnccl.so.2",)),
    Wheel("nvidia-nvjitlink-cu12", "12.4.127", "nvjitlink", 14, ("libnvJitLink.so.12",)),
    Wheel("nvidia-nvtx-cu12", "12.4.127", "nvtx", 39, ("libnvToolsExt.so.1",)),
)
CU128 = (
    Wheel("nvidia-cublas-cu12", "12.8.4.1", "cublas", 20, ("libcublas.so.12", "libcublasLt.so.12")),
    Wheel("nvidia-cuda-cupti-cu12", "12.8.90", "cuda_cupti", 62, ("libcupti.so.12",)),
    Wheel("nvidia-cuda-nvrtc-cu12", "12.8.93", "cuda_nvrtc", 15, ("libnvrtc.so.12",)),
    Wheel("nvidia-cuda-runtime-cu12", "12.8.90", "cuda_runtime", 113, ("libcudart.so.12",)),
    Wheel("nvidia-cudnn-cu12", "9.10.2.21", "cudnn", 41, CUDNN),
    Wheel("nvidia-cufft-cu12", "11.3.3.83", "cufft", 18, ("libcufft.so.11",)),
    Wheel("nvidia-cufile-cu12", "1.13.1.3", "cufile", 15, ("libcufile.so.0",)),
    Wheel("nvidia-curand-cu12", "10.3.9.90", "curand", 29, ("libcurand.so.10",)),
    Wheel("nvidia-cusolver-cu12", "11.7.3.90", "cusolver", 17, ("libcusolver.so.11",)),
    Wheel("nvidia-cusparse-cu12", "12.5.8.93", "cusparse", 14, ("libcusparse.so.12",)),
    Wheel("nvidia-cusparselt-cu12", "0.7.1", "cusparselt", 10, ("libcusparseLt.so.0",)),
    Wheel("nvidia-nccl-cu12", "2.27.5", "nccl", 13, ("libnccl.so.2",)),
    Wheel("nvidia-nvjitlink-cu12", "12.8.93", "nvjitlink", 14, ("libnvJitLink.so.12",)),
    Wheel("nvidia-nvshmem-cu12", "3.3.20", "nvshmem", 118, ("libnvshmem_host.so.3",)),
    Wheel("nvidia-nvtx-cu12", "12.8.90", "nvtx", 45, ("libnvToolsExt.so.1",)),
)
TORCH_LIBRARIES = (
    "libc10.so",
    "libc10_cuda.so",
    "libtorch.so",
    "libtorch_cpu.so",
    "libtorch_cuda.so",
    "libtorch_python.so",
)


def environment(
    prefix: str,
    others: dict[str, str],
    packages: tuple[Package, ...],
    frameworks: tuple[Framework, ...],
    manager: str = "pip",
    **changes: Any,
) -> Python:
    """A virtual environment of Ubuntu 24.04's Python.

    Args:
        prefix: its folder.
        others: versions of the packages that do not matter for GPUs, of which nothing but the name is read.
        packages: the others.
        frameworks: what there is of frameworks.
        manager: who installs packages there.
        changes: further fields.
    """
    site = f"{prefix}/lib/python3.12/site-packages"
    several = [Package(name=n, version=v, directory=site) for n, v in others.items()]
    plain: dict[str, Any] = {
        "path": f"{prefix}/bin/python",
        "found_by": "VIRTUAL_ENV",
        "real": "/usr/bin/python3.12",
        "version": "3.12.3",
        "implementation": "cpython",
        "bits": 64,
        "prefix": prefix,
        "base_prefix": "/usr",
        "kind": "venv",
        "manager": manager,
        "project": None,
        "externally_managed": False,
        "sys_path": ("/usr/lib/python312.zip", "/usr/lib/python3.12", "/usr/lib/python3.12/lib-dynload", site),
        "user_site": None,
        "site_packages": site,
        "headers": True,
        "packages": tuple(sorted((*several, *packages), key=lambda package: package.name)),
        "conda": None,
        "frameworks": frameworks,
        "startup": 0.0213,
    }
    return Python(**(plain | changes))


def wheels(prefix: str, found: tuple[Wheel, ...]) -> tuple[Package, ...]:
    """NVIDIA's wheels as distributions."""
    site = f"{prefix}/lib/python3.12/site-packages"
    return tuple(
        Package(name=w.name, version=w.version, directory=site, installer="pip", files=w.files, libraries=w.libraries)
        for w in found
    )


def plain(prefix: str, name: str, version: str, files: int, installer: str = "pip", **changes: Any) -> Package:
    """Another distribution that matters for GPUs."""
    site = f"{prefix}/lib/python3.12/site-packages"
    return Package(name=name, version=version, directory=site, installer=installer, files=files, **changes)


def torch_package(prefix: str, version: str, found: tuple[Wheel, ...], triton: str, files: int) -> tuple[Package, ...]:
    """PyTorch's distribution and Triton's."""
    pins = tuple(f'{w.name}=={w.version} ; platform_system == "Linux"' for w in found)
    rest = ("filelock", "typing-extensions>=4.10.0", "networkx", "jinja2", "fsspec", f"triton=={triton}")
    return (
        plain(prefix, "torch", version, files, requires=(*rest, *pins), libraries=TORCH_LIBRARIES),
        plain(prefix, "triton", triton, 372, libraries=("libtriton.so",)),
    )


def torch(
    prefix: str,
    version: str,
    release: str,
    archs: tuple[str, ...],
    cudnn: str,
    found: tuple[Wheel, ...],
    live: LiveFramework,
) -> Framework:
    """PyTorch as its files tell of it."""
    site = f"{prefix}/lib/python3.12/site-packages"
    return Framework(
        name="torch",
        distribution="torch",
        version=version,
        location=f"{site}/torch",
        cuda=release,
        hip=None,
        variant="cuda",
        archs=archs,
        kernels=archs,
        cudnn=cudnn,
        needs=tuple(
            _need(site, wheel, soname) for wheel in found for soname in wheel.libraries if soname not in CUDNN[1:]
        ),
        plugin=None,
        plugin_version=None,
        backend_version=None,
        live=live,
    )


def _need(site: str, wheel: Wheel, soname: str) -> Need:
    path = f"{site}/nvidia/{wheel.folder}/lib/{soname}"
    by = "torch/lib/libtorch_cuda.so" if soname != "libnvJitLink.so.12" else "nvidia/cusolver/lib/libcusolver.so.11"
    return Need(
        soname=soname,
        needed_by=by,
        path=path,
        how="RPATH",
        version=wheel.version,
        wheel=path,
        wheel_version=wheel.version,
    )


def live(
    prefix: str,
    version: str,
    release: str | None,
    seconds: float,
    found: tuple[Wheel, ...],
    driver: str,
    **changes: Any,
) -> LiveFramework:
    """What PyTorch said when it was imported, and what it had mapped."""
    site = f"{prefix}/lib/python3.12/site-packages"
    mapped = [f"{site}/nvidia/{wheel.folder}/lib/{soname}" for wheel in found for soname in wheel.libraries]
    own = [f"/usr/lib/x86_64-linux-gnu/{name}.so.{driver}" for name in ("libcuda", "libnvidia-ml")] if found else []
    plain: dict[str, Any] = {
        "stage": "done",
        "exit_code": 0,
        "import_seconds": seconds,
        "file": f"{site}/torch/__init__.py",
        "version": version,
        "built_for": release,
        "available": True,
        "error": None,
        "error_code": None,
        "cudnn_error": None,
        "nccl": next((wheel.version for wheel in found if wheel.folder == "nccl"), None),
        "providers": UNASKED,
        "listed": UNASKED,
        "driver_cuda": UNASKED,
        "cuda_path": UNASKED,
        "nvrtc": UNASKED,
        "libraries": tuple(sorted(mapped + own)),
    }
    return LiveFramework(**(plain | changes))


def devices(count: int, name: str, capability: str, memory: int) -> tuple[FrameworkDevice, ...]:
    """Equal GPUs as PyTorch lists them."""
    return tuple(
        FrameworkDevice(index=i, name=name, capability=capability, gfx=None, memory=memory) for i in range(count)
    )
