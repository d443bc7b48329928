"""TensorFlow: its build, its libraries, its GPU code, its driver."""

from typing import Any

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.checks.tensorflow.arch_missing import arch_missing
from gpudoctor.checks.tensorflow.cpu_build import cpu_build
from gpudoctor.checks.tensorflow.crashes import crashes
from gpudoctor.checks.tensorflow.cudnn_too_old import cudnn_too_old
from gpudoctor.checks.tensorflow.driver_too_old import driver_too_old
from gpudoctor.checks.tensorflow.import_fails import import_fails
from gpudoctor.checks.tensorflow.import_hangs import import_hangs
from gpudoctor.checks.tensorflow.libdevice_missing import libdevice_missing
from gpudoctor.checks.tensorflow.libraries_missing import libraries_missing
from gpudoctor.checks.tensorflow.libraries_not_found import libraries_not_found
from gpudoctor.checks.tensorflow.no_gpu import no_gpu
from gpudoctor.checks.tensorflow.placeholder import placeholder
from gpudoctor.checks.tensorflow.several_packages import several_packages
from gpudoctor.checks.tensorflow.wrong_cuda_major import wrong_cuda_major
from gpudoctor.facts import CondaPackage, DriverLibrary, FileOverlap, Framework, NamedPath
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, live, plain_host, with_framework
from tests.checks.environments import (
    BLACKWELL,
    NO_TOOLKIT,
    PASCAL,
    SITE,
    blind,
    change_toolkits,
    commands,
    environment,
    machine,
    need,
    one,
    package,
    severity,
    torch,
)

ARCHS = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")
FOUND = (need("libcudart.so.12", "/usr/lib/libcudart.so.12"), need("libcudnn.so.9", "/usr/lib/libcudnn.so.9"))


def tf(version: str = "2.19.1", **changes: Any) -> Framework:
    """A healthy TensorFlow for CUDA 12.5."""
    plain = {"cuda": "12.5.1", "cudnn": "9.3", "archs": ARCHS, "needs": FOUND}
    return framework("tensorflow", version, **(plain | changes))


def test_libraries_missing() -> None:
    ill = tf("2.17.1", needs=(need("libcudart.so.12"), need("libcudnn.so.8")), live=blind(error=None))
    expected = (
        "TensorFlow 2.17.1 needs the CUDA 12 libraries libcudart.so.12, libcudnn.so.8, which are not found: no "
        "nvidia-* wheels are installed, and no CUDA toolkit has them."
    )
    assert one(libraries_missing, environment(ill)) == ("problem", expected)
    assert "'tensorflow[and-cuda]==2.17.1'" in commands(libraries_missing, environment(ill))
    assert severity(libraries_missing, environment(ill)) == "fail"
    assert severity(libraries_missing, environment(ill, torch())) == "warn"
    assert one(libraries_missing, environment(tf())) == ("pass", "")
    assert one(libraries_missing, with_framework(ill, plain_host())) == ("pass", "")
    unknown = environment(tf(needs=Unknown("stripped"), live=None))
    assert one(libraries_missing, unknown) == ("unknown", "stripped")


def test_a_missing_tensorrt_and_what_was_reported_before_are_no_evidence() -> None:
    said = (
        "dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'",
        "dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.7'",
        "TF-TRT Warning: Cannot dlopen some TensorRT libraries.",
        "13:21:09: W dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'",
    )
    ill = tf("2.10.1", needs=(need("libcudart.so.11.0"),), live=live(available=False, stderr="\n".join(said)))
    (verdict,) = judge(environment(ill), catalogue.load(["tensorflow.libraries-missing"]))
    assert verdict.problem
    assert verdict.problem.evidence == said[-1:]


def test_libraries_not_found() -> None:
    wheel = f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"
    ill = tf("2.16.1", needs=(need("libcudart.so.12", wheel=wheel),), live=blind())
    expected = "TensorFlow 2.16.1 does not find libcudart.so.12, although the wheels that contain them are installed."
    assert one(libraries_not_found, environment(ill)) == ("problem", expected)
    said = commands(libraries_not_found, environment(ill))
    assert f"export LD_LIBRARY_PATH={SITE}/nvidia/cuda_runtime/lib" in said
    assert one(libraries_missing, environment(ill)) == ("pass", "")
    assert one(libraries_not_found, environment(tf())) == ("pass", "")
    unknown = environment(tf(needs=Unknown("stripped"), live=None))
    assert one(libraries_not_found, unknown) == ("unknown", "stripped")


def test_wrong_cuda_major() -> None:
    ill = tf("2.13.1", cuda="11.8", needs=(need("libcudart.so.11.0"),), live=blind())
    there = DriverLibrary(
        soname="libcudart.so.12", path="/usr/local/cuda/lib64/libcudart.so.12", real="/x", kind="toolkit"
    )
    facts = environment(ill, facts=machine(toolkits=change_toolkits(libraries=(there,))))
    expected = (
        "TensorFlow 2.13.1 is built for CUDA 11.8 and needs libcudart.so.11.0; installed is only libcudart.so.12."
    )
    assert one(wrong_cuda_major, facts) == ("problem", expected)
    assert "tensorflow[and-cuda]==2." in commands(wrong_cuda_major, facts)
    assert one(libraries_missing, facts) == ("pass", "")
    assert one(wrong_cuda_major, environment(tf())) == ("pass", "")
    unknown = environment(tf(needs=Unknown("stripped"), live=None))
    assert one(wrong_cuda_major, unknown) == ("unknown", "stripped")


def test_another_frameworks_cudnn_is_not_taken_away() -> None:
    ill = tf("2.17.1", needs=(need("libcudnn.so.8"),), live=blind())
    nine = package("nvidia-cudnn-cu12", "9.1.0.70", libraries=("libcudnn.so.9",))
    facts = environment(ill, torch(), packages=(nine,))
    assert "needs libcudnn.so.8; installed is only libcudnn.so.9." in one(wrong_cuda_major, facts)[1]
    assert "python3.11 -m venv /opt/env-tensorflow" in commands(wrong_cuda_major, facts)


def test_the_cudnn_of_an_environment_of_its_own_is_installed_again() -> None:
    ill = tf("2.19.1", needs=(need("libcudnn.so.9"),), live=blind())
    facts = environment(ill, packages=(package("nvidia-cudnn-cu12", "8.9.7.29", libraries=("libcudnn.so.8",)),))
    assert "'tensorflow[and-cuda]==2.19.1'" in commands(wrong_cuda_major, facts)


def test_cudnn_too_old() -> None:
    path = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.8"
    ill = tf("2.12.1", cuda="11.8", cudnn="8.6", needs=(need("libcudnn.so.8", path, version="8.5.0.96"),))
    facts = environment(ill, packages=(package("nvidia-cudnn-cu11", "8.5.0.96"),))
    expected = f"TensorFlow 2.12.1 requires cuDNN 8.6 or a newer 8.x but loads 8.5.0.96 ({path})."
    assert one(cudnn_too_old, facts) == ("problem", expected)
    assert "'nvidia-cudnn-cu11>=8.6,<9'" in commands(cudnn_too_old, facts)
    newer = tf(needs=(need("libcudnn.so.9", path, version="9.10.2"),))
    assert one(cudnn_too_old, environment(newer)) == ("pass", "")
    assert one(cudnn_too_old, environment(tf(needs=Unknown("stripped")))) == ("unknown", "stripped")


def test_arch_missing() -> None:
    facts = environment(tf(), facts=machine("12.9", card=BLACKWELL))
    expected = (
        "TensorFlow 2.19.1 has no kernels for GPU 0 (NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0, "
        "sm_120): it covers only up to sm_90."
    )
    assert one(arch_missing, facts) == ("problem", expected)
    assert "nvcr.io/nvidia/tensorflow" in commands(arch_missing, facts)
    assert one(arch_missing, environment(tf(), facts=machine(card=PASCAL))) == ("pass", "")
    assert one(arch_missing, environment(tf())) == ("pass", "")
    assert one(arch_missing, environment(tf(archs=Unknown("no file")))) == ("unknown", "no file")


def test_ptx_that_works_is_only_slow_at_first() -> None:
    hopper = {"name": "NVIDIA H100", "generation": "Hopper", "capability": "9.0"}
    old = tf("2.13.1", archs=("sm_50", "sm_60", "sm_70", "sm_75", "compute_80"))
    assert severity(arch_missing, environment(old, facts=machine(card=hopper))) == "advice"


def test_driver_too_old() -> None:
    facts = environment(tf(), facts=machine("11.4"))
    expected = (
        "TensorFlow 2.19.1 is built for CUDA 12.5.1 and requires driver 525.60.13 or newer; the driver 570.169 (CUDA "
        "11.4) is too old and supports at most CUDA 11.4."
    )
    assert one(driver_too_old, facts) == ("problem", expected)
    # Its extra pins a TensorRT without a wheel for Python 3.11.
    assert "pip install --python ~/gpu-env 'tensorflow[and-cuda]==2.14.*'" in commands(driver_too_old, facts)
    ten = change(facts, "pythons.0.version", "3.10.14")
    assert "/opt/env/bin/python -m pip install --upgrade 'tensorflow[and-cuda]==2.14.*'" in commands(
        driver_too_old, ten
    )
    assert one(driver_too_old, environment(tf(), facts=machine("12.0"))) == ("pass", "")
    assert one(driver_too_old, environment(tf(cuda=Unknown("no file")))) == ("unknown", "no file")


def test_placeholder() -> None:
    empty = framework("tensorflow", "2.12.0", distribution="tensorflow-gpu", location=None, live=None)
    expected = (
        "tensorflow-gpu 2.12.0 is installed; it is an obsolete, empty package: there is no module tensorflow to import."
    )
    assert one(placeholder, environment(empty)) == ("problem", expected)
    said = commands(placeholder, environment(empty))
    assert "uninstall -y tensorflow-gpu" in said
    assert "tensorflow[and-cuda]" in said
    assert one(placeholder, environment(tf())) == ("pass", "")


def test_several_packages() -> None:
    both = FileOverlap(packages=("tensorflow", "tensorflow-cpu"), files=("tensorflow/__init__.py",))
    ill = tf(others=(("tensorflow-cpu", "2.19.1"),))
    facts = environment(ill, overlaps=(both,))
    expected = "tensorflow 2.19.1 and tensorflow-cpu 2.19.1 are installed together and overwrite each other's files."
    assert one(several_packages, facts) == ("problem", expected)
    assert "uninstall -y tensorflow tensorflow-cpu" in commands(several_packages, facts)
    assert "'tensorflow[and-cuda]==2.19.1'" in commands(several_packages, facts)  # what is installed suffices
    lost = environment(tf("2.21.0", others=(("tensorflow-cpu", "2.21.0"),)), overlaps=(both,))
    assert "'tensorflow[and-cuda]==2.20.*'" in commands(several_packages, lost)  # 2.21.0 does not find its cuSOLVER
    assert one(several_packages, environment(tf())) == ("pass", "")


def test_cpu_build() -> None:
    cpu = framework("tensorflow", "2.19.1", distribution="tensorflow-cpu", variant="cpu", cuda=None, live=blind())
    expected = "TensorFlow 2.19.1 (tensorflow-cpu) has no GPU support and does not use GPU 0 (NVIDIA GeForce RTX 4090)."
    assert one(cpu_build, environment(cpu)) == ("problem", expected)
    assert severity(cpu_build, environment(cpu)) == "warn"
    assert one(cpu_build, environment(cpu, torch())) == ("pass", "")
    assert one(cpu_build, environment(tf())) == ("pass", "")
    assert one(cpu_build, environment(tf(variant=Unknown("no file")))) == ("unknown", "no file")
    for version, in_wsl in (("2.10.1", False), ("2.11.0", True)):  # 2.10 was the last for native Windows
        older = msgspec.structs.replace(cpu, version=version)
        assert ("WSL 2" in commands(cpu_build, change(environment(older), "host.system", "Windows"))) is in_wsl


def test_libdevice_missing() -> None:
    expected = (
        "TensorFlow 2.19.1 finds the CUDA libraries but no libdevice.10.bc: neither the nvcc wheel nor a CUDA toolkit "
        "is installed."
    )
    assert one(libdevice_missing, environment(tf())) == ("problem", expected)
    assert "pip install nvidia-cuda-nvcc-cu12" in commands(libdevice_missing, environment(tf()))
    wheel = (package("nvidia-cuda-nvcc-cu12", "12.5.82"),)
    assert one(libdevice_missing, environment(tf(), packages=wheel)) == ("pass", "")
    unknown = environment(tf(), facts=machine(toolkits=change_toolkits(nvccs=Unknown("no PATH"))))
    assert one(libdevice_missing, unknown) == ("unknown", "no PATH")
    assert NO_TOOLKIT.nvccs == ()


@pytest.mark.parametrize(
    ("exists", "verdict"),
    [
        (True, ("pass", "")),
        (Unknown("closed"), ("unknown", "closed")),
        (
            False,
            (
                "problem",
                "TensorFlow 2.19.1 finds the CUDA libraries but no libdevice.10.bc: neither the nvcc wheel nor a CUDA "
                "toolkit is installed, and XLA_FLAGS names a directory without it (/opt/env/lib/nvvm/libdevice does "
                "not exist).",
            ),
        ),
    ],
)
def test_xla_flags_name_a_directory_without_libdevice(exists: Any, verdict: tuple[str, str]) -> None:
    named = NamedPath(variable="XLA_FLAGS", path="/opt/env/lib/nvvm/libdevice", exists=exists)
    facts = environment(tf(), facts=machine(toolkits=change_toolkits(named_paths=(named,))))
    facts = change(facts, "host.environment", {"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/opt/env/lib"})
    assert one(libdevice_missing, facts) == verdict


def test_libdevice_of_a_conda_environment() -> None:
    tools = (CondaPackage(name="cuda-nvrtc", version="12.6.85", build="h0"),)
    text = commands(libdevice_missing, environment(tf(cuda="12.6"), conda=tools, kind="conda", manager="conda"))
    assert "conda install -p /opt/env -c conda-forge cuda-nvcc=12.6" in text
    assert "export XLA_FLAGS=--xla_gpu_cuda_data_dir=/opt/env" in text


LIVE = [
    (import_fails, {"import_error": "ImportError: x"}, "TensorFlow 2.19.1 fails to import: ImportError: x"),
    (import_hangs, {"hung": True, "stage": "import"}, "TensorFlow 2.19.1 hangs while importing."),
    (
        crashes,
        {"died": "SIGILL", "stage": "import"},
        "TensorFlow 2.19.1 crashes with SIGILL in the stage import, before it reports any GPU.",
    ),
    (
        no_gpu,
        {"available": False, "count": 0, "error": "failed call to cuInit"},
        "TensorFlow 2.19.1 does not use GPU 0 (NVIDIA GeForce RTX 4090).",
    ),
]


@pytest.mark.parametrize(("check", "changes", "message"), LIVE)
def test_what_tensorflow_says_itself(check: Any, changes: dict[str, Any], message: str) -> None:
    assert one(check, environment(tf(live=live(**changes)))) == ("problem", message)
    assert one(check, environment(tf())) == ("pass", "")


def test_no_gpu_beside_a_working_framework_is_a_warning() -> None:
    assert severity(no_gpu, environment(tf(live=blind()), torch())) == "warn"
    assert one(no_gpu, environment(tf(variant=Unknown("no file")))) == ("unknown", "no file")
