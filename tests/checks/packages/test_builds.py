"""Packages that were built for another GPU, driver, framework or processor than those that are there."""

from typing import Any

import pytest

from gpudoctor.checks.libraries.pin_broken import pin_broken
from gpudoctor.checks.packages.another_project import another_project
from gpudoctor.checks.packages.builds_overwrite import builds_overwrite
from gpudoctor.checks.packages.built_for_another_torch import built_for_another_torch
from gpudoctor.checks.packages.driver_too_old import driver_too_old
from gpudoctor.checks.packages.gpu_too_old import gpu_too_old
from gpudoctor.checks.packages.llama_cpp_cpu import llama_cpp_cpu
from gpudoctor.checks.packages.torchcodec_mismatch import torchcodec_mismatch
from gpudoctor.checks.packages.triton_mismatch import triton_mismatch
from gpudoctor.facts import Extension, Facts, FileOverlap, UnmetRequirement
from gpudoctor.knowledge.requests import requests
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.maybe import Unknown
from gpudoctor.queries.extensions import built_for
from tests.builders import change, live, plain_host
from tests.checks.environments import (
    BLACKWELL,
    PASCAL,
    bare_python,
    blind,
    commands,
    environment,
    machine,
    one,
    package,
    severity,
    torch,
)

TURING = {"name": "Tesla T4", "generation": "Turing", "capability": "7.5", "chip": "TU104"}
VOLTA = {"name": "Tesla V100-SXM2-16GB", "generation": "Volta", "capability": "7.0", "chip": "GV100"}
PIP = "/opt/env/bin/python -m pip"
CLOSED = bare_python(packages=Unknown("closed"))


# -- the GPU -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "card", "ill"),
    [
        ("flash-attn", "2.7.4.post1", TURING, True),
        ("flash-attn", "1.0.9", TURING, False),
        ("flash-attn", "2.7.4.post1", {}, False),
        ("vllm", "0.20.1", VOLTA, False),
        ("vllm", "0.21.0", VOLTA, True),
        ("vllm", "0.6.3", PASCAL, True),
        ("cudf-cu12", "25.12.0", VOLTA, False),
        ("cudf-cu13", "25.12.0", VOLTA, True),
        ("cuml-cu12", "23.12.1", PASCAL, False),
        ("cuml-cu12", "24.2.0", PASCAL, True),
        ("numpy", "2.1.0", PASCAL, False),
        ("vllm", "odd", PASCAL, False),
        ("vllm", "0.11.0+cpu", PASCAL, False),
    ],
)
def test_gpu_too_old(name: str, version: str, card: dict[str, str], ill: bool) -> None:
    facts = environment(torch(), packages=(package(name, version),), facts=machine(card=card))
    assert one(gpu_too_old, facts)[0] == ("problem" if ill else "pass")


def test_what_is_said_of_an_old_gpu() -> None:
    t4 = environment(torch(), packages=(package("flash-attn", "2.7.4"),), facts=machine(card=TURING))
    message = (
        "flash-attn 2.7.4 needs compute capability 8.0 or newer; GPU 0 (Tesla T4, Turing, compute capability 7.5, "
        "sm_75) has less."
    )
    assert one(gpu_too_old, t4) == ("problem", message)
    assert 'attn_implementation="sdpa"' in commands(gpu_too_old, t4)
    v100 = environment(packages=(package("cudf-cu13", "25.12.0"),), facts=machine(card=VOLTA))
    assert "uninstall -y cudf-cu13" in commands(gpu_too_old, v100)
    assert "install cudf-cu12" in commands(gpu_too_old, v100)


def test_a_newer_gpu_beside_the_old_one_is_enough() -> None:
    facts = environment(packages=(package("flash-attn", "2.7.4"),), facts=machine(card=TURING))
    two = change(facts, "gpus", (facts.gpus[0], change(facts, "gpus.0.capability", "8.9").gpus[0]))  # type: ignore[index]
    assert one(gpu_too_old, two) == ("pass", "")


def test_an_old_gpu_of_which_too_little_is_known() -> None:
    facts = environment(packages=(package("flash-attn", "2.7.4"),))
    assert one(gpu_too_old, change(facts, "gpus.0.capability", Unknown("no word"))) == ("unknown", "no word")
    assert one(gpu_too_old, change(facts, "pythons.0", CLOSED)) == ("unknown", "closed")
    without = change(environment(torch()), "gpus.0.capability", Unknown("no word"))
    assert one(gpu_too_old, without) == ("pass", "")


# -- the driver ----------------------------------------------------------------------------------------------


def rapids(driver: object = "12.8", name: str = "cudf-cu13", version: str = "25.12.0") -> Facts:
    facts = environment(packages=(package(name, version), package("numpy", "2.1.0")), facts=machine("12.8"))
    return change(change(facts, "nvidia.cuda.version", driver), "nvidia.nvml.cuda_version", driver)


def test_driver_too_old() -> None:
    message = "cudf-cu13 25.12.0 is built for CUDA 13; the driver 570.169 (CUDA 12.8) is too old."
    assert one(driver_too_old, rapids()) == ("problem", message)
    said = commands(driver_too_old, rapids())
    assert "install cudf-cu12" in said
    assert "580" in said
    assert one(driver_too_old, rapids("13.0")) == ("pass", "")
    assert one(driver_too_old, rapids("12.2", "cudf-cu12")) == ("pass", "")
    assert one(driver_too_old, rapids("12.2", "nvidia-dali-cuda130"))[0] == "problem"
    assert "install nvidia-dali-cuda120" in commands(driver_too_old, rapids("12.2", "nvidia-dali-cuda130"))
    assert "install libcudf-cu12" in commands(driver_too_old, rapids("12.2", "libcudf-cu13"))
    both = environment(packages=(package("cudf-cu13", "25.12"), package("nvidia-dali-cuda130", "1.5")), facts=machine())
    assert "install cudf-cu12 nvidia-dali-cuda120" in commands(driver_too_old, both)
    assert one(driver_too_old, rapids(Unknown("libcuda is silent"))) == ("unknown", "libcuda is silent")
    assert one(driver_too_old, rapids(Unknown("libcuda is silent"), "torch")) == ("pass", "")
    assert one(driver_too_old, change(rapids(), "pythons.0", CLOSED)) == ("unknown", "closed")
    assert one(driver_too_old, change(plain_host(), "pythons", rapids().pythons)) == ("pass", "")


def test_the_runtime_that_the_bindings_contain() -> None:
    facts = rapids("12.8", "cuda-bindings", version="13.0.3")
    expected = "cuda-bindings 13.0.3 is built for CUDA 13; the driver 570.169 (CUDA 12.8) is too old."
    assert one(driver_too_old, facts) == ("problem", expected)
    assert severity(driver_too_old, facts) == "warn"
    typed = commands(driver_too_old, facts)
    assert "install 'cuda-bindings>=12,<13'" in typed
    assert "580" not in typed
    assert one(driver_too_old, rapids("13.0", "cuda-bindings", version="13.0.3")) == ("pass", "")
    assert one(driver_too_old, rapids("12.8", "cuda-bindings", version="12.9.4")) == ("pass", "")
    whole = (package("cuda-python", "13.0.3", requires=("cuda-bindings~=13.0.3",)), package("cuda-bindings", "13.0.3"))
    assert "install 'cuda-python>=12,<13'" in commands(driver_too_old, change(facts, "pythons.0.packages", whole))
    needed = (*whole, package("mine", "1.0", requires=("cuda-bindings>=13",)))
    typed = commands(driver_too_old, change(facts, "pythons.0.packages", needed))
    assert "cuda-python" not in typed
    assert "580" in typed


# -- PyTorch -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.1.2+pt24cu121", ("2.4", "12.1")),
        ("2.1.2+pt210cu130", ("2.10", "13.0")),
        ("2.7.4.post1+cu12torch2.5cxx11abiFALSE", ("2.5", "12")),
        ("0.2.4+cu121.torch2.4.0", ("2.4", "12.1")),
        ("0.0.28+cu118", (None, "11.8")),
        ("2.7.4", (None, None)),
        ("1.0+local", (None, None)),
        ("0.17.5+torch260cu126", ("2.6", "12.6")),
        ("0.21.6+torch2120cu132", ("2.12", "13.2")),
        ("0.21.5.dev9+cu128.torch29", ("2.9", "12.8")),
        ("0.15.1+torch210cu121", ("2.1", "12.1")),  # 2.1.0: there is no 2.10 for CUDA 12.1
        ("0.21.6+cu130.torch210", ("2.10", "13.0")),
        ("0.15.1+torch210cpu", (None, None)),  # of either
        ("1.0+opt3", (None, None)),
    ],
)
def test_what_a_version_says_that_it_is_built_for(version: str, expected: tuple[str | None, str | None]) -> None:
    assert built_for(package("x", version)) == expected


def test_the_record_of_a_build_comes_before_its_version() -> None:
    assert built_for(package("xformers", "0.0.35", built_with="2.10.0+cu128")) == ("2.10", "12.8")
    mine = package("xformers", "0.0.35", requires=("torch>=2.10",), built_with="2.10.0+cu128")
    facts = environment(torch("2.11.0+cu130", cuda="13.0"), packages=(mine,))
    expected = "xformers 0.0.35 is built for PyTorch 2.10; torch 2.11.0+cu130 for CUDA 13.0 is installed."
    assert one(built_for_another_torch, facts) == ("problem", expected)
    index = "--index-url https://download.pytorch.org/whl/cu130"
    assert f"--force-reinstall --no-deps {index} 'xformers>=0.0.34'" in commands(built_for_another_torch, facts)
    fits = Extension(package="xformers", version="0.0.35", path="/x/_C.so")  # the stable ABI serves 2.11, too
    assert one(built_for_another_torch, change(facts, "pythons.0.extensions", (fits,))) == ("pass", "")
    older = change(facts, "pythons.0.frameworks.0.version", "2.9.1+cu130")
    assert "--no-binary xformers" in commands(built_for_another_torch, older)


def scatter(version: str, **changes: object) -> Facts:
    found = environment(torch("2.7.1", cuda="12.6"), packages=(package("torch-scatter", version),))
    return change(found, "pythons.0.extensions", changes.get("extensions", ()))


GRAPHBOLT = ("libdgl.so", "libgraphbolt_pytorch_2.1.2.so", "libgraphbolt_pytorch_2.4.0.so")
PLAIN = ("libdgl.so", "libtorch_cpu.so", "_C.abi3.so", "libtorchtext_2.so")


@pytest.mark.parametrize(
    ("libraries", "version", "outcome"),
    [
        (GRAPHBOLT, "2.4.0+cu124", "pass"),
        (GRAPHBOLT, "2.4.1", "problem"),  # one library for each patch release
        (GRAPHBOLT, "2.6.0+cu124", "problem"),
        (GRAPHBOLT, "2.6.0a0+git1234567", "pass"),  # its number does not show which release it is
        (GRAPHBOLT, Unknown("closed"), "unknown"),
        (("libfoo_torch2.6.0.so", "libfoo_torch2.7.0.so"), "2.6.0", "pass"),
        (("libfoo_torch2.6.0.so", "libfoo_torch2.7.0.so"), "2.8.0", "problem"),
        (PLAIN, "2.6.0", "pass"),
    ],
)
def test_a_package_with_a_library_for_each_release(libraries: tuple[str, ...], version: Any, outcome: str) -> None:
    facts = environment(torch(version), packages=(package("dgl", "2.1.0", libraries=libraries),))
    assert one(built_for_another_torch, facts)[0] == outcome


def test_what_is_said_of_a_library_that_is_missing() -> None:
    found = package("dgl", "2.1.0", libraries=GRAPHBOLT)
    facts = environment(torch("2.6.0+cu124"), packages=(found,), version="3.11.7")
    assert one(built_for_another_torch, facts)[1] == (
        "dgl 2.1.0 has libraries for PyTorch 2.1.2 to 2.4.0 only, each for one release; torch 2.6.0+cu124 is "
        "installed, for which it has none."
    )
    assert "install torch==2.4.0" in commands(built_for_another_torch, facts)
    for others in ({"facts": machine(card=BLACKWELL)}, {"version": "3.13.1"}):  # that PyTorch does not run there
        typed = commands(built_for_another_torch, environment(torch("2.7.1"), packages=(found,), **others))
        assert "torch==" not in typed
        assert "install --upgrade dgl" in typed


def test_built_for_another_torch_by_its_version() -> None:
    message = "torch-scatter 2.1.2+pt24cu121 is built for PyTorch 2.4; torch 2.7.1 for CUDA 12.6 is installed."
    assert one(built_for_another_torch, scatter("2.1.2+pt24cu121")) == ("problem", message)
    assert one(built_for_another_torch, scatter("2.1.2+pt27cu126")) == ("pass", "")
    assert one(built_for_another_torch, scatter("2.1.2+pt27cu128")) == ("pass", "")
    message = "torch-scatter 2.1.2+pt27cu118 is built for CUDA 11.8; torch 2.7.1 for CUDA 12.6 is installed."
    assert one(built_for_another_torch, scatter("2.1.2+pt27cu118")) == ("problem", message)
    assert one(built_for_another_torch, scatter("2.1.2")) == ("pass", "")
    fits = Extension(package="torch-scatter", version="2.1.2", path="/x/_scatter_cuda.so")
    assert one(built_for_another_torch, scatter("2.1.2+pt26cu126", extensions=(fits,))) == ("pass", "")


def codec(version: str, of: object = "2.7.1") -> Facts:
    facts = environment(torch(), packages=(package("torchcodec", version),))
    return change(facts, "pythons.0.frameworks.0.version", of)


def test_torchcodec() -> None:
    message = "torchcodec 0.8.1 is compiled for PyTorch 2.9, but PyTorch 2.7.1 is installed."
    assert one(torchcodec_mismatch, codec("0.8.1")) == ("problem", message)
    assert "'torchcodec==0.5.*'" in commands(torchcodec_mismatch, codec("0.8.1"))
    assert one(torchcodec_mismatch, codec("0.5")) == ("pass", "")
    assert one(torchcodec_mismatch, codec("0.12.0", "2.13.0")) == ("pass", "")  # beyond what the table knows
    assert one(torchcodec_mismatch, codec("0.9.1", "2.10.0"))[0] == "problem"
    assert "'torchcodec==0.10.*'" in commands(torchcodec_mismatch, codec("0.9.1", "2.10.0"))
    assert "'torchcodec>=0.12'" in commands(torchcodec_mismatch, codec("0.9.1", "2.13.0"))
    assert one(torchcodec_mismatch, codec("0.8.1", Unknown("closed"))) == ("unknown", "closed")
    assert one(torchcodec_mismatch, codec("0.8.1", "2.10.0.dev20251001")) == ("pass", "")
    assert one(torchcodec_mismatch, codec("0.8.1", "2.10.0a0+b558c986e8.nv25.11")) == ("pass", "")  # NVIDIA's image
    assert one(torchcodec_mismatch, codec("0.8.1a0", "2.10.0")) == ("pass", "")
    by_conda = environment(torch(), packages=(package("torchcodec", "0.8.1", installer="conda"),))
    assert one(torchcodec_mismatch, by_conda) == ("pass", "")


def triton(found: str, facts: Facts | None = None) -> Facts:
    broken = UnmetRequirement(package="torch", version="2.7.1", requires="triton==3.3.1", found=found)
    return environment(torch(), packages=(package("triton", found),), unmet=(broken,), facts=facts)


def test_triton() -> None:
    message = "torch 2.7.1 requires triton==3.3.1, but 3.5.0 is installed."
    assert one(triton_mismatch, triton("3.5.0")) == ("problem", message)
    assert "install triton==3.3.1" in commands(triton_mismatch, triton("3.5.0"))
    assert one(triton_mismatch, triton("3.3.0")) == ("pass", "")
    assert one(triton_mismatch, triton("3.5.0", plain_host())) == ("pass", "")
    assert one(triton_mismatch, environment(torch())) == ("pass", "")


def other(name: str, version: str, *users: str) -> Facts:
    """PyTorch next to a package, and what would use it."""
    return environment(torch(), packages=(package(name, version), *(package(user, "1.0") for user in users)))


def test_packages_that_are_another_project() -> None:
    facts = other("apex", "0.9.10.dev0")
    assert one(another_project, facts)[1].startswith(
        "apex 0.9.10.dev0 is PyPI's web toolkit of that name, not NVIDIA's PyTorch extension"
    )
    assert one(another_project, environment(packages=(package("apex", "0.9.10.dev0"),))) == ("pass", "")
    assert one(another_project, change(facts, "pythons.0", CLOSED)) == ("unknown", "closed")
    said = commands(another_project, other("nunchaku", "0.1.0"))
    assert f"{PIP} uninstall -y nunchaku" in said
    assert "nunchaku-RELEASE+torch2.7-cp311-cp311-linux_x86_64.whl" in said
    assert "git+https://github.com/openai/CLIP.git" in commands(another_project, other("clip", "0.2.0"))
    assert f"{PIP} install openai-whisper" in commands(another_project, other("whisper", "1.1.10"))
    assert "flash-attn" in commands(another_project, other("flash-attention", "1.0.0"))


@pytest.mark.parametrize(
    ("name", "version", "users", "outcome"),
    [
        ("nunchaku", "0.1.0", (), "problem"),
        ("nunchaku", "0.16.1", ("diffusers",), "problem"),
        ("nunchaku", "0.16.1", (), "pass"),  # of use by itself
        ("nunchaku", "0.3.1+torch2.7", ("diffusers",), "pass"),  # the engine's own wheel
        ("nunchaku", "0.1.0+torch2.5", (), "pass"),
        ("nunchaku", "1.0.1", ("diffusers",), "pass"),
        ("apex", "0.1", (), "pass"),
        ("clip", "1.0", (), "pass"),
        ("openai-whisper", "20250625", (), "pass"),
    ],
)
def test_other_projects_by_their_versions(name: str, version: str, users: tuple[str, ...], outcome: str) -> None:
    assert one(another_project, other(name, version, *users))[0] == outcome


def test_the_names_of_other_projects_are_listed_once() -> None:
    assert wanted().other_projects == tuple(sorted({row.name for row in requests().other_project}))


# -- libraries -----------------------------------------------------------------------------------------------


def pinned(found: str | None, wheel: str = "nvidia-nvjitlink-cu12", error: str | None = None) -> Facts:
    broken = UnmetRequirement(package="torch", version="2.7.1", requires=f"{wheel}==12.6.85", found=found)
    return environment(torch(live=blind(import_error=error) if error else live()), unmet=(broken,))


def test_pin_broken() -> None:
    message = "PyTorch 2.7.1 is built with nvidia-nvjitlink-cu12 12.6.85, but 12.1.105 is installed."
    assert one(pin_broken, pinned("12.1.105")) == ("problem", message)
    assert severity(pin_broken, pinned("12.1.105")) == "warn"
    assert "install nvidia-nvjitlink-cu12==12.6.85" in commands(pin_broken, pinned("12.1.105"))
    error = "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"
    assert severity(pin_broken, pinned("12.1.105", error=error)) == "fail"
    assert severity(pin_broken, pinned("12.1.105", error="No module named 'numpy'")) == "warn"
    assert one(pin_broken, pinned("12.8.93")) == ("pass", "")
    assert one(pin_broken, pinned(None)) == ("pass", "")  # libraries.wheel-missing tells it
    assert one(pin_broken, pinned("12.1.105", "nvidia-cudnn-cu12")) == ("pass", "")  # as cudnn-pin-broken does
    asks = package("paddlepaddle-gpu", "3.0.0", requires=("nvidia-nvjitlink-cu12==12.1.105",))
    said = change(pinned("12.1.105"), "pythons.0.packages", (asks,))
    assert "(paddlepaddle-gpu requires it too)" in one(pin_broken, said)[1]


# -- other packages ------------------------------------------------------------------------------------------


def both(*names: str, facts: Facts | None = None) -> Facts:
    overlap = FileOverlap(packages=tuple(sorted(names)), files=(f"{names[0]}/__init__.py",))
    packages = tuple(package(name, "1.9.0") for name in names)
    return environment(packages=packages, overlaps=(overlap,), facts=facts)


def test_builds_that_overwrite_one_another() -> None:
    facts = both("faiss-cpu", "faiss-gpu-cu12")
    message = "faiss-cpu 1.9.0 and faiss-gpu-cu12 1.9.0 are both installed and share files: one overwrote the "
    assert one(builds_overwrite, facts) == ("problem", f"{message}other's.")
    said = commands(builds_overwrite, facts)
    assert "uninstall -y faiss-cpu faiss-gpu-cu12" in said
    assert "--force-reinstall --no-deps faiss-gpu-cu12==1.9.0" in said
    assert "--no-deps triton==1.9.0" in commands(builds_overwrite, both("pytorch-triton-rocm", "triton"))
    assert one(builds_overwrite, both("a", "b")) == ("pass", "")
    assert one(builds_overwrite, both("faiss-cpu", "faiss-gpu", facts=plain_host())) == ("pass", "")
    assert one(builds_overwrite, change(facts, "pythons.0", CLOSED)) == ("unknown", "closed")


@pytest.mark.parametrize(
    ("libraries", "outcome"),
    [
        (("libllama.so", "libggml.so", "libggml-base.so", "libggml-cpu.so"), "problem"),
        (("libllama.so", "libggml.so", "libggml-base.so", "libggml-cpu.so", "libggml-cuda.so"), "pass"),
        (("libllama.so", "libggml-base.so", "libggml-vulkan.so"), "pass"),
        (("libllama.so",), "pass"),  # an older release, of one library
        ((), "pass"),
    ],
)
def test_llama_cpp(libraries: tuple[str, ...], outcome: str) -> None:
    facts = environment(packages=(package("llama-cpp-python", "0.3.16", libraries=libraries),))
    assert one(llama_cpp_cpu, facts)[0] == outcome
    if outcome == "problem":
        assert "CMAKE_ARGS=-DGGML_CUDA=on " in commands(llama_cpp_cpu, facts)
        assert one(llama_cpp_cpu, change(plain_host(), "pythons", facts.pythons)) == ("pass", "")
        assert one(llama_cpp_cpu, change(facts, "pythons.0", CLOSED)) == ("unknown", "closed")


@pytest.mark.parametrize(
    ("others", "ollama", "expected"),
    [
        ((), (), "warn"),
        (("sentence-transformers",), (), "warn"),
        (("vllm",), (), "advice"),
        ((), ("base", "cpu"), "warn"),
        ((), ("base", "cpu", "cuda"), "advice"),
        ((), Unknown("closed"), "warn"),
    ],
)
def test_how_bad_a_llama_cpp_for_the_cpu_is(others: tuple[str, ...], ollama: Any, expected: str) -> None:
    llama = package("llama-cpp-python", "0.3.16", libraries=("libllama.so", "libggml-base.so", "libggml-cpu.so"))
    facts = environment(packages=(llama, *(package(name, "1.0") for name in others)))
    assert severity(llama_cpp_cpu, change(facts, "ollama.backends", ollama)) == expected


def test_llama_cpp_that_may_be_meant_so() -> None:
    parts = ("libllama.so", "libggml-base.so", "libggml-cpu.so")
    facts = environment(torch(), packages=(package("llama-cpp-python", "0.3.16", libraries=parts),))
    assert severity(llama_cpp_cpu, facts) == "warn"  # PyTorch is there for much else
    assert one(llama_cpp_cpu, change(facts, "host.environment", {"LLAMA_CPP_LIB_PATH": "/opt/l"})) == ("pass", "")
