"""Where frameworks get CUDA's libraries from: shadowed, mixed, overwritten, missing."""

import shlex
from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.libraries.cudnn_pin_broken import cudnn_pin_broken
from gpudoctor.checks.libraries.mixed_cuda_majors import mixed_cuda_majors
from gpudoctor.checks.libraries.overlapping_wheels import overlapping_wheels
from gpudoctor.checks.libraries.pin_broken import pin_broken
from gpudoctor.checks.libraries.shadowed_by_path import shadowed_by_path
from gpudoctor.checks.libraries.system_cudnn_mixed import system_cudnn_mixed
from gpudoctor.checks.libraries.wheel_incomplete import wheel_incomplete
from gpudoctor.checks.libraries.wheel_missing import wheel_missing
from gpudoctor.facts import Facts, FileOverlap, PackageImport, UnmetRequirement
from gpudoctor.maybe import Unknown
from tests.builders import change, host, library, live
from tests.checks.environments import SITE, commands, environment, machine, need, one, package, severity, torch

LT = f"{SITE}/nvidia/cublas/lib/libcublasLt.so.11"


def shadowed(version: str, wheel: str = "11.10.3.66", soname: str = "libcublasLt.so.11", **lives: Any) -> Facts:
    """PyTorch with one library from LD_LIBRARY_PATH."""
    own = f"{SITE}/nvidia/x/lib/{soname}"
    taken = need(
        soname, f"/usr/local/cuda/lib64/{soname}", "LD_LIBRARY_PATH", version=version, wheel=own, wheel_version=wheel
    )
    facts = machine()
    env = host(environment={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:/opt/mine"})
    facts = msgspec.structs.replace(facts, host=env)
    return environment(torch(needs=(taken,), live=live(**lives) if lives else live()), facts=facts)


def test_shadowed_by_path() -> None:
    error = "OSError: libcublas.so.11: symbol cublasLtHSHMatmulAlgoInit not defined in file libcublasLt.so.11"
    facts = shadowed("11.2.0.252", import_error=error)
    expected = (
        "PyTorch 2.7.1 loads libcublasLt.so.11 11.2.0.252 from LD_LIBRARY_PATH (/usr/local/cuda/lib64) instead of "
        f"its own 11.10.3.66 from {SITE}/nvidia/x/lib/libcublasLt.so.11."
    )
    assert one(shadowed_by_path, facts) == ("problem", expected)
    assert severity(shadowed_by_path, facts) == "fail"
    assert "export LD_LIBRARY_PATH=/opt/mine" in commands(shadowed_by_path, facts)


def test_shadowed_by_path_is_as_bad_as_what_it_does() -> None:
    assert severity(shadowed_by_path, shadowed("11.11.3.6")) == "advice"
    assert severity(shadowed_by_path, shadowed("12.8.4.1", "12.9.1.4", "libcublas.so.12")) == "warn"
    assert severity(shadowed_by_path, shadowed("12.8.3.14", "12.8.4.1", "libcublas.so.12")) == "advice"
    assert severity(shadowed_by_path, shadowed("8.0.3", "8.7.0.84", "libcudnn.so.8")) == "warn"
    assert severity(shadowed_by_path, shadowed("9.23.0", "9.5.1.17", "libcudnn.so.9")) == "advice"
    assert one(shadowed_by_path, shadowed("11.10.3")) == ("pass", "")


def test_a_folder_is_named_once() -> None:
    parts = ("libcudnn.so.8", "libcudnn_ops_infer.so.8")
    facts = shadowed("8.0.3", "8.7.0.84", parts[0])
    other = shadowed("8.0.3", "8.7.0.84", parts[1]).pythons[0].frameworks[0].needs
    needs = facts.pythons[0].frameworks[0].needs
    assert not isinstance(needs, Unknown)
    assert not isinstance(other, Unknown)
    found = run(shadowed_by_path, environment(torch(needs=(*needs, *other)), facts=facts))[0].problem
    assert found is not None
    folders = f"/usr/local/cuda/lib64 (8.0.3) shadows {SITE}/nvidia/x/lib (8.7.0.84)"
    assert found.evidence == (f"{', '.join(parts)}: {folders}",)


def test_shadowed_by_path_passes_and_does_not_know() -> None:
    found = need("libcublasLt.so.11", LT, "RPATH", version="11.10.3.66", wheel=LT, wheel_version="11.10.3.66")
    assert one(shadowed_by_path, environment(torch(needs=(found,)))) == ("pass", "")
    assert one(shadowed_by_path, environment(torch(needs=Unknown("stripped")))) == ("unknown", "stripped")


def cudnn(part: str, path: str, version: str) -> Facts:
    """A cuDNN wheel 9.20, and one part of cuDNN from somewhere."""
    main = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
    needs = (
        need("libcudnn.so.9", main, version="9.20.0.48", wheel=main, wheel_version="9.20.0.48"),
        need(part, path, "cache", version=version),
    )
    return environment(torch(needs=needs), packages=(package("nvidia-cudnn-cu13", "9.20.0.48"),))


def test_system_cudnn_mixed() -> None:
    part = "libcudnn_engines_tensor_ir.so.9"
    facts = cudnn(part, f"/lib/x86_64-linux-gnu/{part}", "9.22.0")
    expected = (
        f"PyTorch 2.7.1 loads {part} from the system (/lib/x86_64-linux-gnu/{part}, cuDNN 9.22.0) together with cuDNN "
        "9.20.0.48 from its own wheel, which is incomplete: the versions differ."
    )
    assert one(system_cudnn_mixed, facts) == ("problem", expected)
    said = commands(system_cudnn_mixed, facts)
    assert "sudo apt-get remove 'libcudnn9*'" in said
    assert "nvidia-cudnn-cu13==9.22.*" in said
    assert one(system_cudnn_mixed, cudnn(part, f"/lib/{part}", "9.20.0")) == ("pass", "")
    assert one(system_cudnn_mixed, environment(torch(needs=Unknown("stripped")))) == ("unknown", "stripped")


def test_overlapping_wheels() -> None:
    both = FileOverlap(packages=("nvidia-nccl-cu12", "nvidia-nccl-cu13"), files=("nvidia/nccl/lib/libnccl.so.2",))
    wheels = (package("nvidia-nccl-cu12", "2.29.3"), package("nvidia-nccl-cu13", "2.29.7"))
    asks = package("torch", "2.12.0", requires=("nvidia-nccl-cu13==2.29.7; platform_system == 'Linux'",))
    facts = environment(torch("2.12.0"), packages=wheels, overlaps=(both,))
    packages = (asks, *wheels)
    facts = change(facts, "pythons.0.packages", packages)
    expected = (
        "nvidia-nccl-cu12 2.29.3 and nvidia-nccl-cu13 2.29.7 both contain nvidia/nccl/lib/libnccl.so.2: one overwrote "
        "the other's copy."
    )
    assert one(overlapping_wheels, facts) == ("problem", expected)
    said = commands(overlapping_wheels, facts)
    assert "uninstall -y nvidia-nccl-cu12 nvidia-nccl-cu13" in said
    assert said.endswith("-m pip install nvidia-nccl-cu13==2.29.7")  # what it needs stays as it is
    others = FileOverlap(packages=("onnxruntime", "onnxruntime-gpu"), files=("onnxruntime/__init__.py",))
    assert one(overlapping_wheels, environment(torch(), overlaps=(others,))) == ("pass", "")


@pytest.mark.parametrize(
    ("cudnn", "typed"),
    [
        ("9.10.2.21", ("'jax[cuda12]==0.8.1'", "uninstall -y jax-cuda13-plugin jax-cuda13-pjrt nvidia-cudnn-cu12")),
        ("9.5.1.17", ("jax[cuda13]==0.8.1", "-m venv")),  # too old for JAX
    ],
)
def test_two_frameworks_of_different_majors_share_one(cudnn: str, typed: tuple[str, str]) -> None:
    both = FileOverlap(packages=("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"), files=("nvidia/cudnn/lib/libcudnn.so.9",))
    packages = (
        package("torch", "2.8.0", requires=(f"nvidia-cudnn-cu12=={cudnn}",)),
        package("jax", "0.8.1"),
        package("jax-cuda13-plugin", "0.8.1", requires=("nvidia-cudnn-cu13>=9.12; extra == 'with-cuda'",)),
        package("jax-cuda13-pjrt", "0.8.1"),
        package("nvidia-cudnn-cu12", cudnn),
        package("nvidia-cudnn-cu13", "9.15.1.9"),
    )
    facts = environment(torch("2.8.0", cuda="12.8"), overlaps=(both,))
    said = commands(overlapping_wheels, change(facts, "pythons.0.packages", packages))
    assert all(text in said for text in typed)
    assert f"install nvidia-cudnn-cu12=={cudnn}" in said


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((), "nvidia-cudnn-cu13"),
        ((("onnxruntime-gpu", 'nvidia-cudnn-cu12~=9.0; extra == "cudnn"'),), "nvidia-cudnn-cu12~=9.0"),
        (
            (
                ("onnxruntime-gpu", 'nvidia-cudnn-cu12~=9.0; extra == "cudnn"'),
                ("torch", "nvidia-cudnn-cu13 (==9.13.0.50); platform_system == 'Linux'"),
            ),
            "nvidia-cudnn-cu13==9.13.0.50",
        ),
    ],
)
def test_the_wheel_that_stays_is_the_one_that_is_required(others: tuple[tuple[str, str], ...], expected: str) -> None:
    both = FileOverlap(packages=("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"), files=("nvidia/cudnn/lib/libcudnn.so.9",))
    asking = tuple(package(name, "1.26.0", requires=(line,)) for name, line in others)
    wheels = (package("nvidia-cudnn-cu12", "9.28.0.42"), package("nvidia-cudnn-cu13", "9.28.1.4"))
    facts = environment(packages=(*asking, *wheels), overlaps=(both,))
    assert shlex.split(commands(overlapping_wheels, facts).splitlines()[-1])[-1] == expected


def test_wheel_missing() -> None:
    lacks = UnmetRequirement(package="torch", version="2.6.0", requires="nvidia-cudnn-cu12==9.1.0.70")
    ill = torch("2.6.0", needs=(need("libcudnn.so.9"),), live=live(import_error="ImportError: libcudnn.so.9"))
    facts = environment(ill, unmet=(lacks,))
    expected = "PyTorch 2.6.0 requires nvidia-cudnn-cu12==9.1.0.70, which is not installed."
    assert one(wheel_missing, facts) == ("problem", expected)
    assert "pip install nvidia-cudnn-cu12==9.1.0.70" in commands(wheel_missing, facts)
    two = environment(ill, unmet=(lacks, msgspec.structs.replace(lacks, requires="nvidia-nccl-cu12==2.21.5")))
    assert one(wheel_missing, two)[1].endswith("9.1.0.70, nvidia-nccl-cu12==2.21.5, which are not installed.")
    elsewhere = torch("2.6.0", needs=(need("libcudnn.so.9", "/usr/lib/libcudnn.so.9", "cache"),))
    assert one(wheel_missing, environment(elsewhere, unmet=(lacks,))) == ("pass", "")
    assert one(wheel_missing, environment(torch("2.6.0"))) == ("pass", "")


NVRTC = UnmetRequirement(package="torch", version="2.9.1", requires="nvidia-cuda-nvrtc==13.0.48")


def lacks_nvrtc(**changes: Any) -> Facts:
    """PyTorch without the wheel of NVRTC, which it opens when it first compiles a kernel."""
    return environment(torch("2.9.1", cuda="13.0"), unmet=(NVRTC,), facts=machine("13.0"), **changes)


def test_a_wheel_whose_library_is_opened_when_it_is_first_used() -> None:
    found, message = one(wheel_missing, lacks_nvrtc())
    assert (found, "and libnvrtc.so.13 is nowhere else" in message) == ("problem", True)
    assert severity(wheel_missing, lacks_nvrtc()) == "warn"
    assert "pip install nvidia-cuda-nvrtc==13.0.48" in commands(wheel_missing, lacks_nvrtc())
    older = UnmetRequirement(package="torch", version="2.9.1", requires="nvidia-cuda-nvrtc-cu12==12.8.93")
    text = one(wheel_missing, environment(torch("2.9.1", cuda="12.8"), unmet=(older,)))[1]
    assert "and libnvrtc.so.12 is nowhere else" in text


def test_a_library_that_is_opened_late_and_is_elsewhere() -> None:
    toolkit = library("libnvrtc.so.13", path="/usr/local/cuda-13.0/lib64/libnvrtc.so.13")
    system = change(lacks_nvrtc(), "toolkits.libraries", (toolkit,))
    other = change(lacks_nvrtc(), "toolkits.libraries", (library("libnvrtc.so.12"),))
    wheel = lacks_nvrtc(packages=(package("nvidia-cuda-nvrtc-mine", "13.0", libraries=("libnvrtc.so.13",)),))
    no_gpu = change(change(lacks_nvrtc(), "gpus", ()), "pci", ())
    nccl = UnmetRequirement(package="torch", version="2.9.1", requires="nvidia-nvtx==13.0.39")
    assert [one(wheel_missing, facts)[0] for facts in (system, other, wheel, no_gpu)] == [
        *("pass", "problem", "pass", "pass"),
    ]
    assert one(wheel_missing, environment(torch("2.9.1", cuda="13.0"), unmet=(nccl,)))[0] == "pass"
    unread = change(lacks_nvrtc(), "toolkits.libraries", Unknown("closed"))
    assert one(wheel_missing, unread) == ("unknown", "closed")


def test_wheel_incomplete() -> None:
    gone = package("nvidia-nccl-cu12", "2.26.2", missing=("nvidia/nccl/lib/libnccl.so.2",))
    broken = torch(live=live(import_error="ImportError: libnccl.so.2"))
    facts = environment(broken, packages=(gone,))
    expected = "nvidia-nccl-cu12 2.26.2 lacks 1 of its files: nvidia/nccl/lib/libnccl.so.2 is missing."
    assert one(wheel_incomplete, facts) == ("problem", expected)
    assert "--force-reinstall --no-deps nvidia-nccl-cu12==2.26.2" in commands(wheel_incomplete, facts)
    assert severity(wheel_incomplete, environment(torch(), packages=(gone,))) == "advice"
    assert one(wheel_incomplete, environment(torch())) == ("pass", "")


def test_a_truncated_library() -> None:
    cut = package("torch", "2.7.1+cu126", cut=("torch/lib/libtorch_cuda.so",))
    dead = environment(torch(live=live(died="SIGBUS")), packages=(cut,))
    dead = change(dead, "pythons.0.packages", (cut,))
    assert one(wheel_incomplete, dead) == (
        "problem",
        "torch/lib/libtorch_cuda.so of torch 2.7.1+cu126 is truncated.",
    )
    assert severity(wheel_incomplete, dead) == "fail"
    assert commands(wheel_incomplete, dead).splitlines()[1:] == [
        f"df -h {SITE}",
        "/opt/env/bin/python -m pip install --force-reinstall --index-url https://download.pytorch.org/whl/cu126 "
        "--no-deps torch==2.7.1",
    ]
    works = change(dead, "pythons.0.frameworks.0.live", live())
    assert severity(wheel_incomplete, works) == "warn"


def pinned(found: str) -> Facts:
    """PyTorch 2.1 beside the cuDNN that JAX brought."""
    broken = UnmetRequirement(package="torch", version="2.1.2", requires="nvidia-cudnn-cu12==8.9.2.26", found=found)
    plugin = package("jax-cuda12-plugin", "0.4.33", requires=("nvidia-cudnn-cu12<10.0,>=9.1; extra == 'with-cuda'",))
    return environment(torch("2.1.2"), packages=(plugin,), unmet=(broken,))


def test_cudnn_pin_broken() -> None:
    expected = (
        "PyTorch 2.1.2 is built with cuDNN 8.9.2.26, but nvidia-cudnn-cu12 9.5.1.17 is installed (installed by "
        "jax-cuda12-plugin 0.4.33)."
    )
    assert one(cudnn_pin_broken, pinned("9.5.1.17")) == ("problem", expected)
    said = commands(cudnn_pin_broken, pinned("9.5.1.17"))
    assert "python3.11 -m venv /opt/env-jax" in said
    assert "'jax[cuda12]==0.4.33'" in said
    assert [severity(cudnn_pin_broken, pinned(v)) for v in ("9.5.1.17", "8.5.0.96", "8.9.7.29")] == [
        "fail",
        "warn",
        "advice",
    ]
    assert one(cudnn_pin_broken, environment(torch())) == ("pass", "")


def test_where_the_other_package_accepts_pytorchs_cudnn_it_gets_it_back() -> None:
    """TensorFlow asks for a range: what it brought was only the newest, and both work with PyTorch's."""
    unmet = UnmetRequirement(
        package="torch", version="2.7.1", requires="nvidia-cudnn-cu12==9.5.1.17", found="9.12.0.46"
    )
    asks = ("nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == 'and-cuda'",)
    tensorflow = msgspec.structs.replace(package("tensorflow", "2.19.1"), requires=asks)
    (found,) = run(cudnn_pin_broken, environment(torch(), packages=(tensorflow,), unmet=(unmet,)))
    assert [fix.commands for fix in found.fixes] == [
        ("/opt/env/bin/python -m pip install nvidia-cudnn-cu12==9.5.1.17",)
    ]
    assert found.fixes[0].message == "Reinstall the cuDNN that torch pins; tensorflow accepts it too."


def test_the_newer_pin_serves_both() -> None:
    """TensorFlow 2.19 pins an older cuDNN than PyTorch, which refuses that one."""
    unmet = UnmetRequirement(package="torch", version="2.7.1", requires="nvidia-cudnn-cu12==9.5.1.17", found="9.3.0.75")
    tensorflow = package("tensorflow", "2.19.1", requires=("nvidia-cudnn-cu12==9.3.0.75; extra == 'and-cuda'",))
    facts = environment(torch(), packages=(tensorflow,), unmet=(unmet,))
    both, apart = run(cudnn_pin_broken, facts)[0].fixes
    assert both.commands == ("/opt/env/bin/python -m pip install nvidia-cudnn-cu12==9.5.1.17",)
    assert apart.commands == (
        "python3.11 -m venv /opt/env-tensorflow",
        "/opt/env-tensorflow/bin/python -m pip install 'tensorflow[and-cuda]==2.19.1'",
        "/opt/env/bin/python -m pip install nvidia-cudnn-cu12==9.5.1.17",
    )


def test_mixed_cuda_majors() -> None:
    left = tuple(package(f"nvidia-{part}-cu11", "11.8.0") for part in ("cublas", "cufft", "curand"))
    expected = (
        "3 NVIDIA wheels are for a CUDA major version that no framework here is built for: nvidia-cublas-cu11 11.8.0, "
        "nvidia-cufft-cu11 11.8.0, nvidia-curand-cu11 11.8.0."
    )
    assert one(mixed_cuda_majors, environment(torch(), packages=left)) == ("problem", expected)
    assert one(mixed_cuda_majors, environment(torch(), packages=left[:2])) == ("pass", "")
    many = tuple(package(f"nvidia-{part}-cu11", "11.8.0") for part in ("cublas", "cufft", "curand", "npp", "nccl"))
    assert one(mixed_cuda_majors, environment(torch(), packages=many))[1].endswith(" and 1 more.")


def linked(found: str, requires: str = "nvidia-nvjitlink-cu12<13,>=12.9", stderr: str = "") -> Facts:
    """RAPIDS with a requirement that the installed nvJitLink does not meet, next to a package that pins this one."""
    unmet = UnmetRequirement(package="libcudf-cu12", version="26.2.1", requires=requires, found=found)
    pins = package("vllm", "0.9.1", requires=("nvidia-nvjitlink-cu12==12.8.93",))
    facts = environment(torch("2.9.1"), packages=(pins,), unmet=(unmet,))
    said = PackageImport(package="cudf-cu12", version="26.2.1", module="cudf", stderr=stderr)
    return change(facts, "pythons.0.imports", (said,))


def test_a_lower_bound_counts_as_a_pin_does() -> None:
    expected = (
        "libcudf-cu12 26.2.1 requires nvidia-nvjitlink-cu12>=12.9, but 12.8.93 is installed (vllm requires it too)."
    )
    assert one(pin_broken, linked("12.8.93")) == ("problem", expected)
    assert "install 'nvidia-nvjitlink-cu12>=12.9'" in commands(pin_broken, linked("12.8.93"))
    assert one(pin_broken, linked("12.9.86")) == ("pass", "")
    assert one(pin_broken, linked("12.8.93", "nvidia-nvjitlink-cu12<12.8")) == ("pass", "")


def test_a_lower_bound_is_an_error_where_the_library_is_in_an_error() -> None:
    said = "nvJitLink error: ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer version of nvJitLink library"
    assert [severity(pin_broken, linked("12.8.93", stderr=line)) for line in (said, "a warning", "")] == [
        "fail",
        "warn",
        "warn",
    ]
