"""ONNX Runtime: its packages, its libraries, its driver."""

from typing import Any

import pytest

from gpudoctor.checks.onnxruntime.both_packages import both_packages
from gpudoctor.checks.onnxruntime.cpu_package import cpu_package
from gpudoctor.checks.onnxruntime.crashes import crashes
from gpudoctor.checks.onnxruntime.driver_too_old import driver_too_old
from gpudoctor.checks.onnxruntime.import_fails import import_fails
from gpudoctor.checks.onnxruntime.import_hangs import import_hangs
from gpudoctor.checks.onnxruntime.libraries_not_found import libraries_not_found
from gpudoctor.checks.onnxruntime.no_gpu import no_gpu
from gpudoctor.checks.onnxruntime.wrong_cuda_major import wrong_cuda_major
from gpudoctor.facts import DriverLibrary, Facts, Framework
from gpudoctor.maybe import Unknown
from tests.builders import framework, live, plain_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import (
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

WHEEL = "/opt/env/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12"


def ort(version: str = "1.22.0", name: str = "onnxruntime-gpu", **changes: Any) -> Framework:
    """A healthy ONNX Runtime for CUDA 12."""
    plain = {"distribution": name, "cuda": "12.6", "needs": (need("libcublasLt.so.12", WHEEL),), "archs": ()}
    return framework("onnxruntime", version, **(plain | changes))


def test_both_packages() -> None:
    ill = ort("1.22.1", "onnxruntime", variant="cpu", cuda=None, others=(("onnxruntime-gpu", "1.22.0"),), live=blind())
    expected = (
        "onnxruntime 1.22.1 and onnxruntime-gpu 1.22.0 are installed together and overwrite each other's files; the "
        "CUDA provider is gone."
    )
    assert one(both_packages, environment(ill)) == ("problem", expected)
    assert severity(both_packages, environment(ill)) == "fail"
    said = commands(both_packages, environment(ill))
    assert "export LD_LIBRARY_PATH=" in said
    assert "/nvidia/cuda_runtime/lib:" in said
    assert "LD_LIBRARY_PATH" not in commands(both_packages, environment(ill, torch()))
    assert "uninstall -y onnxruntime onnxruntime-gpu" in said
    assert "pip install 'onnxruntime-gpu[cuda,cudnn]==1.22.0'" in said
    assert severity(both_packages, environment(ort(others=(("onnxruntime", "1.22.0"),)))) == "warn"
    assert severity(both_packages, with_framework(ill, plain_host())) == "advice"
    # Two for the GPU, neither of which is the package for CUDA: the one whose files are there stays.
    directml = ort("1.22.1", "onnxruntime-directml", others=(("onnxruntime", "1.22.0"),))
    assert "pip install onnxruntime-directml==1.22.1" in commands(both_packages, environment(directml))
    gone = ort(
        others=(("onnxruntime", "1.22.0"),), live=blind(listed=("CPUExecutionProvider",))
    )  # the newer files are the CPU package's
    assert severity(both_packages, environment(gone)) == "fail"
    assert one(both_packages, environment(ort())) == ("pass", "")


def test_the_release_that_comes_back_runs_on_the_driver() -> None:
    """Its cuDNN and that of another major have files of the same names: the one that nothing needs goes first."""
    cudnn = package("nvidia-cudnn-cu13", "9.28.1.4")
    ill = ort("1.31.1", "onnxruntime", variant="cpu", cuda=None, others=(("onnxruntime-gpu", "1.31.1"),), live=blind())
    old, new = (environment(ill, packages=(cudnn,), facts=machine(cuda)) for cuda in ("12.8", "13.0"))
    said = commands(both_packages, old)
    assert "uninstall -y onnxruntime onnxruntime-gpu nvidia-cudnn-cu13" in said
    assert "pip install 'onnxruntime-gpu[cuda,cudnn]>=1.19,<1.27'" in said
    twelve = package("nvidia-cudnn-cu12", "9.28.0.42")
    said = commands(both_packages, environment(ill, packages=(twelve,), facts=machine("13.0")))
    assert "uninstall -y onnxruntime onnxruntime-gpu\n" in said  # an older one may serve what does not name it
    said = commands(both_packages, new)
    assert "uninstall -y onnxruntime onnxruntime-gpu\n" in said
    assert "pip install 'onnxruntime-gpu[cuda,cudnn]==1.31.1'" in said
    alone = ort("1.31.1", "onnxruntime", variant="cpu", cuda=None, live=blind())
    torch_needs_it = package("torch", "2.12.0", requires=("nvidia-cudnn-cu13==9.28.1.4",))
    facts = environment(alone, packages=(cudnn,), facts=machine("12.8"))
    assert "uninstall -y onnxruntime nvidia-cudnn-cu13\n" in commands(cpu_package, facts)
    facts = environment(alone, packages=(cudnn, torch_needs_it), facts=machine("12.8"))
    assert "uninstall -y onnxruntime\n" in commands(cpu_package, facts)


def test_wrong_cuda_major() -> None:
    ill = ort("1.18.0", cuda="11.8", needs=(need("libcublasLt.so.11"),), live=blind())
    there = DriverLibrary(soname="libcublasLt.so.12", path="/usr/local/cuda-12.1/lib64/libcublasLt.so.12", real="/x")
    facts = environment(ill, facts=machine("12.1", change_toolkits(libraries=(there,))))
    expected = (
        "ONNX Runtime 1.18.0 is built for CUDA 11.8 and needs libcublasLt.so.11; installed is only libcublasLt.so.12: "
        "it runs on the CPU."
    )
    assert one(wrong_cuda_major, facts) == ("problem", expected)
    assert "'onnxruntime-gpu[cuda,cudnn]>=1.19,<1.27'" in commands(wrong_cuda_major, facts)
    assert one(libraries_not_found, facts) == ("pass", "")
    assert one(wrong_cuda_major, environment(ort())) == ("pass", "")
    assert one(wrong_cuda_major, environment(ort(needs=Unknown("closed"), live=None))) == ("unknown", "closed")


def test_libraries_not_found() -> None:
    ill = ort(needs=(need("libcublasLt.so.12", wheel=WHEEL),), live=blind())
    expected = (
        "ONNX Runtime 1.22.0 does not find libcublasLt.so.12, although their wheels are installed: "
        "it does not search them."
    )
    assert one(libraries_not_found, environment(ill)) == ("problem", expected)
    assert "onnxruntime.preload_dlls()" in commands(libraries_not_found, environment(ill))
    assert severity(libraries_not_found, environment(ill)) == "warn"  # a program that preloads them uses the GPU
    assert (
        severity(
            libraries_not_found,
            environment(ort(needs=(need("libcublasLt.so.12", wheel=WHEEL), need("libcufft.so.11")), live=blind())),
        )
        == "fail"
    )
    # A program that imports PyTorch first has the same libraries loaded.
    assert severity(libraries_not_found, environment(ill, torch(cuda="12.4"))) == "advice"
    assert one(libraries_not_found, environment(ort())) == ("pass", "")
    assert one(libraries_not_found, environment(ort(needs=Unknown("closed"), live=None))) == ("unknown", "closed")


def test_libraries_that_are_nowhere_are_installed() -> None:
    ill = ort(needs=(need("libcublasLt.so.12"),), live=blind())
    assert "no wheel contains them" in one(libraries_not_found, environment(ill))[1]
    partly = ort(needs=(need("libcublasLt.so.12", wheel=WHEEL), need("libcudnn.so.9")), live=blind())
    expected = "ONNX Runtime 1.22.0 does not find libcudnn.so.9, and no wheel contains them."
    assert one(libraries_not_found, environment(partly)) == ("problem", expected)
    assert "'onnxruntime-gpu[cuda,cudnn]==1.22.0'" in commands(libraries_not_found, environment(ill))


def test_cpu_package() -> None:
    cpu = ort("1.22.0", "onnxruntime", variant="cpu", cuda=None, live=blind())
    expected = "ONNX Runtime 1.22.0 is the CPU-only package and does not use GPU 0 (NVIDIA GeForce RTX 4090)."
    assert one(cpu_package, environment(cpu)) == ("problem", expected)
    assert severity(cpu_package, environment(cpu)) == "advice"
    assert one(cpu_package, environment(ort())) == ("pass", "")
    assert one(cpu_package, environment(ort(variant=Unknown("closed")))) == ("unknown", "closed")


def radeon(*frameworks: Framework, **amd: Any) -> Facts:
    """An AMD GPU with ROCm, and frameworks."""
    return environment(*frameworks, facts=amd_host(**amd))


def test_the_cpu_package_next_to_an_amd_gpu() -> None:
    """1.23 dropped the ROCm provider, and a program that asks for it runs on the CPU."""
    cpu = ort("1.23.2", "onnxruntime", variant="cpu", cuda=None, live=blind())
    outcome, message = one(cpu_package, radeon(cpu))
    assert (outcome, "No release after 1.22 has the ROCMExecutionProvider" in message) == ("problem", True)
    assert severity(cpu_package, radeon(cpu)) == "advice"
    text = commands(cpu_package, radeon(cpu))
    assert "uninstall -y onnxruntime\n" in text
    assert "'onnxruntime-migraphx>=1.23'" in text
    assert "apt-get install migraphx" in text
    older = ort("1.20.1", "onnxruntime", variant="cpu", cuda=None, live=blind())
    assert "No release" not in one(cpu_package, radeon(older))[1]
    assert "'onnxruntime-migraphx>=1.23'" in commands(cpu_package, radeon(older))


def test_the_cpu_package_that_is_meant_so_next_to_an_amd_gpu() -> None:
    cpu = ort("1.23.2", "onnxruntime", variant="cpu", cuda=None, live=blind())
    hip = torch("2.9.0+rocm6.4", cuda=None, hip="6.4", variant="rocm")
    amd = ort("1.23.2", "onnxruntime-migraphx", variant="rocm", cuda=None, hip="7.0")
    for facts in (radeon(cpu, hip), radeon(amd), radeon(cpu, rocm=None, rocm_path=None)):
        assert one(cpu_package, facts)[0] == "pass"


def test_driver_too_old() -> None:
    facts = environment(ort("1.27.0", cuda="13.0", live=blind()), facts=machine("12.4"))
    expected = (
        "ONNX Runtime 1.27.0 is built for CUDA 13.0 and requires driver 580 or newer; the driver 570.169 (CUDA 12.4) "
        "is too old and supports at most CUDA 12.4, so ONNX Runtime falls back to the CPU."
    )
    assert one(driver_too_old, facts) == ("problem", expected)
    assert "'onnxruntime-gpu[cuda,cudnn]<1.27'" in commands(driver_too_old, facts)
    cudnn = package("nvidia-cudnn-cu13", "9.28.1.4")
    mine = package("onnxruntime-gpu", "1.27.0", requires=('nvidia-cudnn-cu13~=9.0; extra == "cudnn"',))
    new = environment(ort("1.27.0", cuda="13.0", live=blind()), packages=(cudnn, mine), facts=machine("12.4"))
    assert "uninstall -y nvidia-cudnn-cu13\n" in commands(driver_too_old, new)
    assert one(driver_too_old, environment(ort())) == ("pass", "")
    assert one(driver_too_old, environment(ort(cuda=Unknown("closed")))) == ("unknown", "closed")


LIVE = [
    (import_fails, {"import_error": "ImportError: x"}, "ONNX Runtime 1.22.0 fails to import: ImportError: x"),
    (import_hangs, {"hung": True, "stage": "init"}, "ONNX Runtime 1.22.0 hangs while initializing CUDA."),
    (
        crashes,
        {"died": "SIGSEGV", "stage": "init"},
        "ONNX Runtime 1.22.0 crashes with SIGSEGV in the stage init, before it reports any GPU.",
    ),
    (
        no_gpu,
        {"available": False, "count": Unknown("not asked"), "error": "CUDA failure 35"},
        "ONNX Runtime 1.22.0 does not use GPU 0 (NVIDIA GeForce RTX 4090).",
    ),
]


@pytest.mark.parametrize(("check", "changes", "message"), LIVE)
def test_what_onnx_runtime_says_itself(check: Any, changes: dict[str, Any], message: str) -> None:
    assert one(check, environment(ort(live=live(**changes)))) == ("problem", message)
    assert one(check, environment(ort())) == ("pass", "")


def test_a_listed_provider_without_a_gpu_is_normal() -> None:
    assert one(no_gpu, with_framework(ort(live=blind()), plain_host())) == ("pass", "")
    assert one(no_gpu, environment(ort(live=live(available=Unknown("it hung"))))) == ("unknown", "it hung")
