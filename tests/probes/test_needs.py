"""Small libraries laid under another root, and which of them each framework would get."""

from pathlib import Path
from typing import Any

import pytest

from gpudoctor.facts import Framework, Need, Package, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.frameworks.library_deps import probe
from tests.parsers.elves import library

SITE = "/env/lib/python3.11/site-packages"
SYSTEM = "/usr/lib64"


class Host:
    """A machine under a folder, with libraries in it."""

    def __init__(self, root: Path, **env: str) -> None:
        self.root, self.env = root, env
        self.packages: list[Package] = []

    def lay(self, path: str, **elf: Any) -> None:
        """Lay a library."""
        place = Path(f"{self.root}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(library(**elf))

    def text(self, path: str, content: str) -> None:
        """Lay a text file."""
        place = Path(f"{self.root}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)

    def wheel(self, name: str, version: str, *files: str, **elf: Any) -> None:
        """Install an nvidia-* wheel."""
        self.packages.append(Package(name=name, version=version, directory=SITE))
        for file in files:
            self.lay(f"{SITE}/nvidia/{file}", **elf)

    def needs(self, name: str, **facts: Any) -> dict[str, Need]:
        """What a framework needs, by soname."""
        found = self.ask(name, **facts)
        assert isinstance(found, tuple)
        return {need.soname: need for need in found}

    def ask(self, name: str, **facts: Any) -> Any:
        """What the probe says."""
        python = Python(path="/env/bin/python", sys_path=(SITE,), packages=tuple(self.packages), conda=None)
        fields = {"variant": "cuda", "cuda": "12.4", "location": f"{SITE}/{name}", "distribution": name, **facts}
        return probe(Machine(root=str(self.root), env=self.env), python, Framework(name=name, **fields))


def torch_host(root: Path, tag: str = "runpath", **env: str) -> Host:
    """PyTorch with cuDNN and cuBLAS from wheels; cuBLAS links to cuBLASLt."""
    host = Host(root, **env)
    folders = "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/cublas/lib:$ORIGIN"
    needed = ("libc10_cuda.so", "libcudnn.so.9", "libcublas.so.12", "libc.so.6")
    host.lay(f"{SITE}/torch/lib/libtorch_cuda.so", needed=needed, **{tag: folders})
    host.wheel("nvidia-cudnn-cu12", "9.1.0.70", "cudnn/lib/libcudnn.so.9", "cudnn/lib/libcudnn_ops.so.9")
    host.wheel("nvidia-cublas-cu12", "12.4.5.8", "cublas/lib/libcublasLt.so.12")
    host.lay(f"{SITE}/nvidia/cublas/lib/libcublas.so.12", needed=("libcublasLt.so.12",), runpath="$ORIGIN")
    return host


def test_torch_gets_its_wheels(tmp_path: Path) -> None:
    needs = torch_host(tmp_path).needs("torch")
    assert list(needs) == ["libcudnn.so.9", "libcublas.so.12", "libcudnn_ops.so.9", "libcublasLt.so.12"]
    cudnn = needs["libcudnn.so.9"]
    assert (cudnn.path, cudnn.how, cudnn.version) == (f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", "RUNPATH", "9.1.0.70")
    assert (cudnn.wheel, cudnn.wheel_version, cudnn.copies) == (cudnn.path, "9.1.0.70", ())
    assert cudnn.needed_by == "torch/lib/libtorch_cuda.so"
    assert needs["libcublasLt.so.12"].needed_by == "nvidia/cublas/lib/libcublas.so.12"
    assert needs["libcublasLt.so.12"].version == "12.4.5.8"


def test_ld_library_path_comes_before_runpath(tmp_path: Path) -> None:
    host = torch_host(tmp_path, LD_LIBRARY_PATH="/opt/cuda/lib64")
    host.lay("/opt/cuda/lib64/libcublasLt.so.12.0.1.189")
    (tmp_path / "opt/cuda/lib64/libcublasLt.so.12").symlink_to("libcublasLt.so.12.0.1.189")
    found = host.needs("torch")["libcublasLt.so.12"]
    assert (found.path, found.how) == ("/opt/cuda/lib64/libcublasLt.so.12", "LD_LIBRARY_PATH")
    assert (found.version, found.wheel_version) == ("12.0.1.189", "12.4.5.8")
    assert found.copies == (f"{SITE}/nvidia/cublas/lib/libcublasLt.so.12",)


def test_rpath_comes_before_ld_library_path_also_for_what_is_loaded_further_down(tmp_path: Path) -> None:
    host = torch_host(tmp_path, tag="rpath", LD_LIBRARY_PATH="/opt/cuda/lib64")
    for name in ("libcudnn.so.9", "libcudnn_ops.so.9"):
        host.lay(f"/opt/cuda/lib64/{name}")
    needs = host.needs("torch")
    assert needs["libcudnn.so.9"].how == "RPATH"
    assert needs["libcudnn.so.9"].copies == ("/opt/cuda/lib64/libcudnn.so.9",)
    assert needs["libcudnn_ops.so.9"].how == "RPATH"


def test_parts_of_cudnn_may_come_from_elsewhere(tmp_path: Path) -> None:
    host = torch_host(tmp_path)
    for name in ("libcudnn.so.9", "libcudnn_ops.so.9", "libcudnn_engines_tensor_ir.so.9"):
        host.lay(f"{SYSTEM}/{name}.22.0")
        (tmp_path / f"usr/lib64/{name}").symlink_to(f"{name}.22.0")
    needs = host.needs("torch")
    assert needs["libcudnn_ops.so.9"].path == f"{SITE}/nvidia/cudnn/lib/libcudnn_ops.so.9"
    part = needs["libcudnn_engines_tensor_ir.so.9"]
    assert (part.path, part.how) == (f"{SYSTEM}/libcudnn_engines_tensor_ir.so.9", "default directory")
    assert (part.version, part.wheel) == ("9.22.0", None)


def test_a_missing_library_has_no_path(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.lay(f"{SITE}/torch/lib/libtorch_cuda.so", needed=("libcudnn.so.9",))
    assert host.needs("torch") == {
        "libcudnn.so.9": Need(soname="libcudnn.so.9", needed_by="torch/lib/libtorch_cuda.so")
    }


def test_pins_tell_where_the_files_do_not(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.lay(f"{SITE}/torch/lib/libtorch_cuda.so")
    pins = ("nvidia-cublas-cu12==12.4.5.8; platform_system == 'Linux'", "nvidia-cudnn-cu12==9.1.0.70", "sympy")
    host.packages.append(Package(name="torch", version="2.5.1", directory=SITE, requires=pins))
    host.wheel("nvidia-cublas-cu12", "12.4.5.8", "cublas/lib/libcublas.so.12")
    needs = host.needs("torch", cudnn="9.1.0.70")
    assert list(needs) == ["libcublas.so.12", "libcublasLt.so.12", "libcudnn.so.9"]
    assert needs["libcublas.so.12"].how == "wheel"
    assert needs["libcudnn.so.9"].path is None


def test_a_bundled_cudnn_has_the_version_of_the_release(tmp_path: Path) -> None:
    host = Host(tmp_path, LD_LIBRARY_PATH="/apps/cudnn")
    host.lay(f"{SITE}/torch/lib/libtorch_cuda.so")
    host.lay(f"{SITE}/torch/lib/libcudnn.so.8")
    host.lay("/apps/cudnn/libcudnn.so.8.0.3")
    (tmp_path / "apps/cudnn/libcudnn.so.8").symlink_to("libcudnn.so.8.0.3")
    found = host.needs("torch", cuda="11.8", cudnn="8.7.0.84")["libcudnn.so.8"]
    assert (found.path, found.version) == ("/apps/cudnn/libcudnn.so.8", "8.0.3")
    assert (found.wheel, found.wheel_version) == (f"{SITE}/torch/lib/libcudnn.so.8", "8.7.0.84")


def test_a_system_cudnn_has_the_version_of_its_header(tmp_path: Path) -> None:
    host = Host(tmp_path, LD_LIBRARY_PATH="/opt/cudnn/lib")
    host.lay(f"{SITE}/torch/lib/libtorch_cuda.so", needed=("libcudnn.so.8",))
    host.lay("/opt/cudnn/lib/libcudnn.so.8")
    header = "#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 0\n"
    host.text("/opt/cudnn/include/cudnn_version.h", header)
    assert host.needs("torch")["libcudnn.so.8"].version == "8.6.0"


def test_tensorflow_before_and_after_it_finds_the_wheels(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.wheel("nvidia-cudnn-cu12", "8.9.7.29", "cudnn/lib/libcudnn.so.8")
    found = host.needs("tensorflow", version="2.15.1", cuda="12.2", cudnn="8.9")
    assert found["libcudnn.so.8"].path == f"{SITE}/nvidia/cudnn/lib/libcudnn.so.8"
    assert found["libcublas.so.12"].path is None
    lost = host.needs("tensorflow", version="2.16.1", cuda="12.3", cudnn="8.9")["libcudnn.so.8"]
    assert (lost.path, lost.wheel_version) == (None, "8.9.7.29")


def test_tensorflow_lets_ld_library_path_win_over_the_wheels(tmp_path: Path) -> None:
    host = Host(tmp_path, LD_LIBRARY_PATH="/usr/local/cuda-12.0/lib64")
    host.lay(f"{SITE}/tensorflow/libtensorflow_framework.so.2", runpath="$ORIGIN/../nvidia/cublas/lib")
    host.wheel("nvidia-cublas-cu12", "12.5.3.2", "cublas/lib/libcublas.so.12")
    assert host.needs("tensorflow", version="2.20.0")["libcublas.so.12"].how == "RUNPATH"
    host.lay("/usr/local/cuda-12.0/lib64/libcublas.so.12")
    assert host.needs("tensorflow", version="2.20.0")["libcublas.so.12"].how == "LD_LIBRARY_PATH"


def test_tensorflow_finds_only_what_the_runpath_of_the_calling_library_names(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.lay(f"{SITE}/tensorflow/libtensorflow_framework.so.2", runpath="$ORIGIN/../nvidia/cublas/lib")
    host.lay(f"{SITE}/tensorflow/libtensorflow_cc.so.2", runpath="$ORIGIN/../nvidia/cusolver/lib")
    host.wheel("nvidia-cublas-cu12", "12.5.3.2", "cublas/lib/libcublas.so.12")
    host.wheel("nvidia-cusolver-cu12", "11.6.3.83", "cusolver/lib/libcusolver.so.11")
    needs = host.needs("tensorflow", version="2.21.0")
    assert needs["libcublas.so.12"].path == f"{SITE}/nvidia/cublas/lib/libcublas.so.12"
    assert (needs["libcusolver.so.11"].path, needs["libcusolver.so.11"].wheel_version) == (None, "11.6.3.83")


def test_cupy_looks_into_the_wheels_first_since_14(tmp_path: Path) -> None:
    host = Host(tmp_path, LD_LIBRARY_PATH="/opt/cuda/lib64")
    host.wheel("nvidia-cuda-nvrtc-cu12", "12.9.86", "cuda_nvrtc/lib/libnvrtc.so.12")
    assert host.needs("cupy", version="13.6.0", cuda="12")["libnvrtc.so.12"].path is None
    host.lay("/opt/cuda/lib64/libnvrtc.so.12")
    old = host.needs("cupy", version="13.6.0", cuda="12")["libnvrtc.so.12"]
    new = host.needs("cupy", version="14.2.0", cuda="12")["libnvrtc.so.12"]
    assert (old.how, new.how, new.version) == ("LD_LIBRARY_PATH", "wheel", "12.9.86")


def test_cupy_takes_cuda_path_last_since_14(tmp_path: Path) -> None:
    host = Host(tmp_path, CUDA_PATH="/opt/cuda")
    host.lay("/opt/cuda/lib64/libnvrtc.so.12")
    assert host.needs("cupy", version="14.2.0", cuda="12")["libnvrtc.so.12"].how == "CUDA_PATH"
    old = host.needs("cupy", version="13.6.0", cuda="12")["libnvrtc.so.12"]
    assert (old.path, old.copies) == (None, ("/opt/cuda/lib64/libnvrtc.so.12",))


def test_jax_opens_its_wheels_by_path_since_its_plugin_does(tmp_path: Path) -> None:
    host = Host(tmp_path, LD_LIBRARY_PATH="/opt/cuda/lib64")
    host.wheel("nvidia-cudnn-cu13", "9.12.0.46", "cudnn/lib/libcudnn.so.9")
    host.wheel("nvidia-cublas", "13.1.0.3", "cu13/lib/libcublas.so.13")
    host.lay("/opt/cuda/lib64/libcudnn.so.9")
    older = host.needs("jax", cuda="13", cudnn="9.12")["libcudnn.so.9"]
    host.text(f"{SITE}/jax_plugins/xla_cuda13/__init__.py", "def _load_nvidia_libraries(): ...\n")
    newer = host.needs("jax", cuda="13", cudnn="9.12")
    assert (older.how, newer["libcudnn.so.9"].how) == ("LD_LIBRARY_PATH", "wheel")
    assert newer["libcublas.so.13"].version == "13.1.0.3"


def test_onnxruntime_finds_no_wheel(tmp_path: Path) -> None:
    host = Host(tmp_path)
    needed = ("libcublasLt.so.12", "libcuda.so.1", "libc.so.6")
    host.lay(f"{SITE}/onnxruntime/capi/libonnxruntime_providers_cuda.so", needed=needed)
    host.wheel("nvidia-cublas-cu12", "12.6.4.1", "cublas/lib/libcublasLt.so.12")
    needs = host.needs("onnxruntime")
    assert list(needs) == ["libcublasLt.so.12"]
    assert (needs["libcublasLt.so.12"].path, needs["libcublasLt.so.12"].wheel_version) == (None, "12.6.4.1")


def test_pytorch_for_rocm_gets_what_lies_beside_it(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.lay(f"{SITE}/torch/lib/libtorch_hip.so", needed=("libamdhip64.so", "libMIOpen.so"), rpath="$ORIGIN")
    host.lay(f"{SITE}/torch/lib/libamdhip64.so")
    needs = host.needs("torch", variant="rocm", cuda=None, hip="6.4")
    assert needs["libamdhip64.so"].path == f"{SITE}/torch/lib/libamdhip64.so"
    assert needs["libMIOpen.so"].path is None


def test_a_framework_for_the_cpu_needs_nothing(tmp_path: Path) -> None:
    assert Host(tmp_path).ask("torch", variant="cpu") == ()


def test_what_is_unknown_stays_unknown(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert host.ask("torch", variant=Unknown("no file")) == Unknown("no file")
    assert host.ask("torch", location=None) == Unknown("no directory on sys.path contains a module torch")
    assert host.ask("torch") == Unknown("its files do not show which libraries it needs")


def xpu_host(root: Path, **env: str) -> Host:
    """PyTorch for Intel GPUs with the SYCL runtime of its wheels, and another oneAPI next to it."""
    host = Host(root, **env)
    host.lay(f"{SITE}/torch/lib/libtorch_xpu.so", needed=("libsycl.so.9",), rpath="$ORIGIN:$ORIGIN/../../../../")
    host.lay("/env/lib/libsycl.so.9", needed=("libur_loader.so.0", "libc.so.6"), runpath="$ORIGIN")
    host.lay("/env/lib/libur_loader.so.0")
    host.packages += [
        Package(name=name, version="2026.0.0", directory=SITE) for name in ("intel-sycl-rt", "intel-cmplr-lib-ur")
    ]
    for folder, name in (("compiler/2025.3", "libsycl.so.8"), ("compiler/2025.3", "libur_loader.so.0.12.0")):
        host.lay(f"/opt/intel/oneapi/{folder}/lib/{name}")
    lib = root / "opt/intel/oneapi/compiler/2025.3/lib"
    (lib / "libur_loader.so.0").symlink_to("libur_loader.so.0.12.0")
    (lib.parent.parent / "latest").symlink_to("2025.3")
    return host


XPU = {"variant": "xpu", "cuda": None}


def test_the_sycl_runtime_is_that_of_the_wheels(tmp_path: Path) -> None:
    needs = xpu_host(tmp_path).needs("torch", **XPU)
    assert list(needs) == ["libsycl.so.9", "libur_loader.so.0"]
    assert [(need.path, need.how, need.version) for need in needs.values()] == [
        ("/env/lib/libsycl.so.9", "RPATH", "2026.0.0"),
        ("/env/lib/libur_loader.so.0", "RUNPATH", "2026.0.0"),
    ]


@pytest.mark.parametrize("release", ["2025.3", "latest"])
def test_an_activated_oneapi_comes_before_the_runpath_of_the_wheels(tmp_path: Path, release: str) -> None:
    folder = f"/opt/intel/oneapi/compiler/{release}/lib"
    needs = xpu_host(tmp_path, LD_LIBRARY_PATH=folder).needs("torch", **XPU)
    assert (needs["libsycl.so.9"].how, needs["libsycl.so.9"].path) == ("RPATH", "/env/lib/libsycl.so.9")
    found = needs["libur_loader.so.0"]
    assert (found.path, found.how, found.version) == (f"{folder}/libur_loader.so.0", "LD_LIBRARY_PATH", "2025.3")
    assert (found.wheel, found.wheel_version) == ("/env/lib/libur_loader.so.0", "2026.0.0")


def test_a_sycl_runtime_elsewhere_has_no_known_release(tmp_path: Path) -> None:
    host = xpu_host(tmp_path, LD_LIBRARY_PATH="/opt/own")
    host.lay("/opt/own/libur_loader.so.0")
    found = host.needs("torch", **XPU)["libur_loader.so.0"]
    assert (found.path, found.version, found.wheel_version) == ("/opt/own/libur_loader.so.0", None, "2026.0.0")


def test_pytorch_opens_no_wheel_of_intels_by_path(tmp_path: Path) -> None:
    host = xpu_host(tmp_path)
    host.lay(f"{SITE}/torch/lib/libtorch_xpu.so", needed=("libsycl.so.9",))
    assert host.needs("torch", **XPU)["libsycl.so.9"].path is None
