"""Packages that were built for another framework than the installed one."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.packages.built_for_another_torch import built_for_another_torch
from gpudoctor.checks.packages.ctranslate2_cudnn import ctranslate2_cudnn
from gpudoctor.checks.packages.extension_abi import extension_abi
from gpudoctor.checks.packages.torchvision_mismatch import torchvision_mismatch
from gpudoctor.facts import Extension, Facts, PackageImport, UnmetRequirement
from gpudoctor.fixes.extensions import torch_index
from gpudoctor.maybe import Unknown
from gpudoctor.queries.extensions import abi
from tests.builders import change, framework, live
from tests.checks.amd_machines import amd_host
from tests.checks.environments import SITE, commands, environment, machine, one, package, torch, verifies


def test_torchvision_mismatch() -> None:
    vision = package("torchvision", "0.19.1", requires=("numpy", "torch==2.4.1"))
    broken = UnmetRequirement(package="torchvision", version="0.19.1", requires="torch==2.4.1", found="2.5.1")
    facts = environment(torch("2.5.1", cuda="12.4"), packages=(vision,), unmet=(broken,))
    expected = "torchvision 0.19.1 requires torch==2.4.1; PyTorch 2.5.1 is installed: a mismatch."
    assert one(torchvision_mismatch, facts) == ("problem", expected)
    said = commands(torchvision_mismatch, facts)
    assert "--force-reinstall --no-deps torchvision==0.20.1" in said  # PyPI's torch 2.5.1 is the one for CUDA 12.4
    other = commands(torchvision_mismatch, change(facts, "pythons.0.frameworks.0.version", "2.5.1+cu121"))
    assert "--force-reinstall --no-deps --index-url https://download.pytorch.org/whl/cu121 torchvision==0.20.1" in other
    imports = "-c 'import torch, torchvision; print(torchvision.__version__)'"
    assert verifies(torchvision_mismatch, facts) == [f"{facts.pythons[0].path} {imports}"]
    fits = package("torchvision", "0.20.1", requires=("torch==2.5.1",))
    assert one(torchvision_mismatch, environment(torch("2.5.1"), packages=(fits,))) == ("pass", "")
    by_nvidia = package("torchvision", "0.20.0a0")  # as in the image 24.12, where it belongs to this PyTorch
    assert (
        one(torchvision_mismatch, environment(torch("2.6.0a0+df5bbc09d1.nv24.12"), packages=(by_nvidia,)))[0] == "pass"
    )
    assert one(torchvision_mismatch, environment(torch(version=Unknown("closed")))) == ("unknown", "closed")


def test_amds_own_wheels_of_two_releases() -> None:
    """They name no release of PyTorch that they are for, and are on no index."""
    ours = framework("torch", "2.9.1+rocm7.2.0.lw.git7e1940d4", variant="rocm", hip="7.2", cuda=None)
    vision = package("torchvision", "0.25.0+rocm7.2.0.git82df5f59", requires=("numpy", "torch"))
    facts = environment(ours, packages=(vision,), facts=amd_host())
    assert "is for another PyTorch, which needs torchvision 0.24.1" in one(torchvision_mismatch, facts)[1]
    place = "--no-index -f https://repo.radeon.com/rocm/manylinux/rocm-rel-7.2/ 'torchvision==0.24.*'"
    assert place in commands(torchvision_mismatch, facts)
    fits = package("torchvision", "0.24.0+rocm7.2.0.gitb919bd0c", requires=("numpy", "torch"))
    assert one(torchvision_mismatch, environment(ours, packages=(fits,), facts=amd_host())) == ("pass", "")


def test_what_amds_page_does_not_have_comes_from_pytorchs_index_for_its_rocm() -> None:
    ours = framework("torch", "2.9.1+rocm7.2.0.lw.git7e1940d4", variant="rocm", hip="7.2", cuda=None)
    assert torch_index(environment(ours).pythons[0], ours) == "https://download.pytorch.org/whl/rocm7.2"


def test_a_cpu_build_of_torchvision_beside_a_gpu_build_of_torch() -> None:
    vision = package("torchvision", "0.22.1+cpu", requires=("torch==2.7.1",))
    facts = environment(torch("2.7.1+cu126"), packages=(vision,))
    expected = (
        "torchvision 0.22.1+cpu is the build cpu, PyTorch is the build cu126; PyTorch 2.7.1+cu126 is installed: a "
        "mismatch."
    )
    assert one(torchvision_mismatch, facts) == ("problem", expected)


def audio(version: str, of_torch: str = "2.0.1+cu118", cuda: str = "11.8", **changes: Any) -> Facts:
    requires = (f"torch=={of_torch.partition('+')[0]}",)
    found = package("torchaudio", version, requires=requires, **changes)
    return environment(torch(of_torch, cuda=cuda), packages=(found,))


def test_torchaudio_for_another_cuda() -> None:
    facts = audio("2.0.2")  # from PyPI, whose builds of 2.0 are for CUDA 11.7
    expected = (
        "torchaudio 2.0.2 is compiled for CUDA 11.7, PyTorch for CUDA 11.8; PyTorch 2.0.1+cu118 is installed: a "
        "mismatch."
    )
    assert one(torchvision_mismatch, facts) == ("problem", expected)
    said = commands(torchvision_mismatch, facts)
    assert "--force-reinstall --no-deps --index-url https://download.pytorch.org/whl/cu118 torchaudio==2.0.2" in said
    assert one(torchvision_mismatch, audio("2.0.2+cu118")) == ("pass", "")
    assert one(torchvision_mismatch, audio("2.0.2", installer="conda")) == ("pass", "")
    assert one(torchvision_mismatch, audio("2.5.1", "2.5.1", "12.4")) == ("pass", "")
    assert one(torchvision_mismatch, audio("2.5.1+cu121", "2.5.1", "12.4"))[0] == "problem"


@pytest.mark.parametrize(("build", "outcome"), [("cu121", "pass"), ("cu118", "problem"), ("cu124", "pass")])
def test_torchvision_wants_pytorchs_cuda_major_alone(build: str, outcome: str) -> None:
    vision = package("torchvision", f"0.20.1+{build}", requires=("torch==2.5.1",))
    assert one(torchvision_mismatch, environment(torch("2.5.1+cu124", cuda="12.4"), packages=(vision,)))[0] == outcome


def test_the_pair_for_pytorch_is_pinned() -> None:
    """Unpinned, pip takes torchaudio 2.11.0, whose metadata names no PyTorch."""
    pins = [
        UnmetRequirement(package=name, version=number, requires="torch==2.5.1", found="2.7.1+cu126")
        for name, number in (("torchaudio", "2.5.1"), ("torchvision", "0.20.1"))
    ]
    both = tuple(package(pin.package, pin.version, requires=("torch==2.5.1",)) for pin in pins)
    lacks = Extension(package="torchvision", version="0.20.1", path=f"{SITE}/torchvision/_C.so", unresolved=(OLD,))
    facts = environment(torch("2.7.1+cu126"), packages=both, unmet=tuple(pins), extensions=(lacks,))
    index = "--index-url https://download.pytorch.org/whl/cu126"
    assert commands(torchvision_mismatch, facts).splitlines()[1:] == [
        f"/opt/env/bin/python -m pip install {how}{index} torchaudio==2.7.1 torchvision==0.22.1"
        for how in ("--force-reinstall --no-deps ", "")
    ]
    assert one(extension_abi, facts) == ("pass", "")  # the same trouble, and nobody builds torchvision
    of_pypi = change(facts, "pythons.0.packages", (*both, package("torch", "2.7.1")))
    assert commands(torchvision_mismatch, of_pypi).splitlines()[1:] == [
        f"/opt/env/bin/python -m pip install {how}torchaudio==2.7.1 torchvision==0.22.1"
        for how in ("--force-reinstall --no-deps ", "")
    ]
    of_index = change(facts, "pythons.0.packages", (*both, package("torch", "2.7.1+cu126")))
    assert commands(torchvision_mismatch, of_index) == commands(torchvision_mismatch, facts)
    nightly = change(facts, "pythons.0.frameworks.0.version", "2.9.0.dev20250801+cu126")
    assert "pip install" not in commands(torchvision_mismatch, nightly)


def test_a_torchvision_that_does_not_load_whatever_its_version() -> None:
    lacks = Extension(package="torchvision", version="0.22.1", path=f"{SITE}/torchvision/_C.so", unresolved=(OLD,))
    vision = package("torchvision", "0.22.1", requires=("torch==2.7.1",))
    facts = environment(torch("2.7.1"), packages=(vision,), extensions=(lacks,))
    expected = (
        f"torchvision 0.22.1 does not load: undefined symbol {OLD} in _C.so; PyTorch 2.7.1 is installed: a mismatch."
    )
    assert one(torchvision_mismatch, facts) == ("problem", expected)
    assert one(torchvision_mismatch, change(facts, "pythons.0.extensions", Unknown("--quick"))) == ("pass", "")


@pytest.mark.parametrize(
    ("version", "verdict"), [("2.10.0+cu126", "problem"), ("2.11.0+cu126", "pass"), ("2.15.0+cu126", "pass")]
)
def test_torchaudio_211_serves_every_later_pytorch(version: str, verdict: str) -> None:
    facts = environment(torch(version), packages=(package("torchaudio", "2.11.0+cu126"),))
    assert one(torchvision_mismatch, facts)[0] == verdict


OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"


@pytest.mark.parametrize(("symbol", "expected"), [(OLD, "old"), (NEW, "new"), ("_ZNK3c1011StorageImpl4sizeEv", None)])
def test_abi(symbol: str, expected: str | None) -> None:
    assert abi((symbol,)) == expected


def extended(name: str, symbol: str, requires: tuple[str, ...] = ()) -> Facts:
    """A package whose extension lacks a symbol."""
    path = f"{SITE}/{name}/_C.so"
    lacks = Extension(package=name, version="2.7.4", path=path, unresolved=(symbol,) if symbol else ())
    return environment(torch("2.7.0"), packages=(package(name, "2.7.4", requires=requires),), extensions=(lacks,))


PIP = "/opt/env/bin/python -m pip"


def test_an_extension_that_gets_no_more_releases() -> None:
    facts = extended("torchtext", OLD)
    typed = commands(extension_abi, facts)
    assert f"{PIP} install 'torch==2.3.*'" in typed
    assert f"{PIP} uninstall -y torchtext" in typed
    assert "--no-binary" not in typed
    too_new = change(facts, "gpus.0.capability", "12.0")  # for which PyTorch 2.3 has no code
    assert "torch==2.3" not in commands(extension_abi, too_new)
    user = package("fairseq", "0.12", requires=("torchtext",))
    held = change(facts, "pythons.0.packages", (package("torchtext", "2.7.4"), user))
    assert "uninstall" not in commands(extension_abi, held)


def test_an_extension_for_other_devices_that_pytorch_loads_by_itself() -> None:
    failed = live(import_error="RuntimeError: Failed to load the backend extension: torch_npu. You can disable it.")
    facts = change(extended("torch-npu", OLD), "pythons.0.frameworks.0.live", failed)
    typed = commands(extension_abi, facts)
    assert f"{PIP} uninstall -y torch-npu" in typed
    assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in typed
    assert " install " not in typed


SYMBOL = "_ZNR5torch7Library4_defEON3c106eitherINS1_12OperatorNameENS1_14FunctionSchemaEEE"


@pytest.mark.parametrize(
    ("symbol", "outcome"),
    [(SYMBOL, "problem"), ("_ZN2at5emptyE", "problem"), ("_ZNK3rmm16cuda_stream_view10is_defaultEv", "pass")],
)
def test_a_symbol_of_pytorch_in_the_words_of_the_loader(symbol: str, outcome: str) -> None:
    """The files of fbgemm-gpu leave it to the package to import PyTorch first."""
    error = f"OSError: {SITE}/fbgemm_gpu/fbgemm_gpu_config.so: undefined symbol: {symbol}"
    one_import = PackageImport(package="fbgemm-gpu", version="1.6.0", module="fbgemm_gpu", error=error)
    facts = environment(torch("2.12.0+cu130", cuda="13.0"), packages=(package("fbgemm-gpu", "1.6.0"),))
    facts = change(facts, "pythons.0.imports", (one_import,))
    assert one(extension_abi, facts)[0] == outcome
    if outcome == "problem":
        assert f"undefined symbol {symbol} in fbgemm_gpu_config.so" in one(extension_abi, facts)[1]
        assert "--index-url https://download.pytorch.org/whl/cu130 'fbgemm-gpu==1.7.*'" in commands(
            extension_abi, facts
        )


def test_extension_abi() -> None:
    facts = extended("flash-attn", OLD)
    expected = f"flash-attn 2.7.4 does not match PyTorch 2.7.0: undefined symbol {OLD} in _C.so."
    assert one(extension_abi, facts) == ("problem", expected)
    assert "--no-build-isolation --no-cache-dir --no-binary flash-attn flash-attn==2.7.4" in commands(
        extension_abi, facts
    )
    pinned = extended("vllm", NEW, ("torch==2.5.1",))
    assert "it was built for torch 2.5.1" in one(extension_abi, pinned)[1]
    assert "torch==2.5.1 vllm==2.7.4" in commands(extension_abi, pinned)
    assert one(extension_abi, extended("flash-attn", "")) == ("pass", "")


@pytest.mark.parametrize(
    ("there", "cuda", "driver", "version", "typed"),
    [
        (
            "2.6.0",
            "12.4",
            "12.6",
            "0.17.5+torch260cu126",
            (
                "--find-links https://shi-labs.com/natten/wheels/ natten==0.17.5+torch260cu124",
                "--index-url https://download.pytorch.org/whl/cu126 'torch==2.6.*'",
            ),
        ),
        # the driver runs no CUDA 13
        (
            "2.12.1+cu126",
            "12.6",
            "12.6",
            "0.21.6+torch2110cu130",
            ("--find-links https://whl.natten.org natten==0.21.6+torch2120cu126",),
        ),
        # somebody's own PyTorch has no wheel, so natten is built here
        ("2.6.0a0+git12", "12.4", "12.6", "0.17.5+torch260cu126", ("--no-binary natten natten==0.17.5", "whl/cu126")),
    ],
)
def test_an_extension_whose_version_names_its_build(
    there: str, cuda: str, driver: str, version: str, typed: tuple[str, ...]
) -> None:
    lacks = Extension(package="natten", version=version, path=f"{SITE}/natten/libnatten.so", unresolved=(NEW,))
    mine = (package("natten", version),)
    facts = environment(torch(there, cuda=cuda), packages=mine, extensions=(lacks,), facts=machine(driver))
    message = one(extension_abi, facts)[1]
    assert "(it was built for torch 2." in message
    lines = [line for line in commands(extension_abi, facts).splitlines() if "install" in line]
    assert all(any(part in line for line in lines) for part in typed)
    assert ("whl/cu130" in "".join(lines)) is False


@pytest.mark.parametrize(
    ("capability", "version", "offered"),
    [
        ("8.6", "3.11.9", True),
        ("12.0", "3.11.9", False),  # PyTorch 2.5 has no code for it
        ("8.6", "3.14.0", False),  # nor a wheel for this Python
    ],
)
def test_no_older_pytorch_that_has_nothing_for_this_gpu(capability: str, version: str, offered: bool) -> None:
    lacks = Extension(package="torch-cluster", version="1.6.3+pt25cu124", path=f"{SITE}/c.so", unresolved=(OLD,))
    there = machine("12.8", card={"capability": capability})
    mine = (package("torch-cluster", "1.6.3+pt25cu124"),)
    facts = environment(torch("2.7.0", cuda="12.8"), packages=mine, extensions=(lacks,), facts=there)
    typed = commands(extension_abi, change(facts, "pythons.0.version", version))
    assert "torch-cluster==1.6.3+pt27cu128" in typed
    assert ("torch==2.5" in typed) is offered
    pinned = change(facts, "pythons.0.packages", (package("torch-cluster", "1.6.3", requires=("torch==2.5.1",)),))
    assert ("torch==2.5.1" in commands(extension_abi, change(pinned, "pythons.0.version", version))) is offered


@pytest.mark.parametrize(
    ("name", "version", "build", "first"),
    [
        ("vllm", "2.7.0", "2.7.0", "--only-binary vllm vllm torch==2.7.0"),
        ("xformers", "2.7.0+cu126", "2.7.0", "--only-binary xformers xformers torch==2.7.0"),
        (
            "xformers",
            "2.7.0+cu118",
            "2.7.0+cu118",
            "--index-url https://download.pytorch.org/whl/cu118 --only-binary xformers xformers torch==2.7.0",
        ),
        # Its release is the pinned one, so that it is another build; a nightly has no release that requires it.
        ("vllm", "2.5.1+cu118", "2.5.1+cu118", "--force-reinstall torch==2.5.1 torchvision==0.20.1 vllm==0.7.2"),
        ("vllm", "2.7.0a0+nv25.03", "2.7.0a0", "install torch==2.5.1 torchvision==0.20.1 vllm==0.7.2"),
    ],
)
def test_an_extension_that_pins_another_torch(name: str, version: str, build: str, first: str) -> None:
    """PyTorch and what belongs to it stay; else they all change together."""
    lacks = Extension(package=name, version="0.7.2", path="/x/_C.so", unresolved=(NEW,))
    there = (
        package(name, "0.7.2", requires=("torch==2.5.1",)),
        package("torch", build),
        package("torchvision", "0.22.0"),
    )
    facts = environment(torch(version), packages=there, extensions=(lacks,))
    assert commands(extension_abi, facts).splitlines()[1].endswith(first)


def test_extension_for_another_cuda_major() -> None:
    lacks = Extension(package="flash-attn", version="2.5", path="/x/_C.so", missing=("libc10.so", "libcudart.so.11.0"))
    facts = environment(torch(), extensions=(lacks,))
    expected = (
        "flash-attn 2.5 does not match PyTorch 2.7.1: _C.so is built for CUDA 11 (it needs libcudart.so.11.0, which "
        "is not found); this PyTorch is built for CUDA 12.6."
    )
    assert one(extension_abi, facts) == ("problem", expected)
    problem = run(extension_abi, facts)[0].problem
    assert problem is not None
    assert problem.evidence == ("/x/_C.so: libcudart.so.11.0 is not found",)  # import torch brings libc10
    assert "undefined symbol" not in str(problem.cause)
    optional = Extension(package="vllm", version="2.5", path="/x/_C.so", missing=("libmpi.so.40",))
    assert one(extension_abi, environment(torch(), extensions=(optional,))) == ("pass", "")


@pytest.mark.parametrize(
    ("nvcc", "message"),
    [
        (None, "which needs nvcc of CUDA 12.6 (CUDA Toolkit, or a -devel image), which is not installed."),
        ("11.8", "which needs nvcc of CUDA 12.6; the installed one is from CUDA 11.8."),
        ("12.4", "which needs nvcc of CUDA 12.6."),
        (Unknown("closed"), "which needs nvcc of CUDA 12.6."),
    ],
)
def test_a_build_needs_nvcc(nvcc: object, message: str) -> None:
    facts = change(extended("flash-attn", OLD), "toolkits.home.nvcc", nvcc)
    assert message in commands(extension_abi, facts)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "import torch, flash_attn_2_cuda"),
        (f"{SITE}/vllm/_C.abi3.so", "import torch, vllm._C"),
        ("/x/libops.so", 'import ctypes, torch; ctypes.CDLL("/x/libops.so")'),
    ],
)
def test_an_extension_is_loaded_to_verify(file: str, code: str) -> None:
    lacks = Extension(package="flash-attn", version="2.5", path=file, missing=("libcudart.so.11.0",))
    facts = environment(torch(), extensions=(lacks,))
    assert set(verifies(extension_abi, facts)) == {f"{facts.pythons[0].path} -c '{code}'"}


def test_built_for_another_torch() -> None:
    broken = UnmetRequirement(package="xformers", version="0.0.29", requires="torch==2.6.0", found="2.7.1")
    facts = environment(torch(), packages=(package("xformers", "0.0.29", requires=("torch==2.6.0",)),), unmet=(broken,))
    expected = "xformers 0.0.29 requires torch==2.6.0; torch 2.7.1 is installed."
    assert one(built_for_another_torch, facts) == ("problem", expected)
    assert "torch==2.6.0 xformers==0.0.29" in commands(built_for_another_torch, facts)
    assert one(built_for_another_torch, environment(torch())) == ("pass", "")


def whisper(version: str, cudnn: str) -> Facts:
    wheels = (package("ctranslate2", version), package("nvidia-cudnn-cu12", cudnn), package("whisperx", "3.1.5"))
    return environment(torch("2.5.1"), packages=wheels)


def test_ctranslate2_cudnn() -> None:
    expected = "ctranslate2 4.4.0 needs cuDNN 8 (libcudnn_ops*.so.8); installed: nvidia-cudnn-cu12 9.1.0.70."
    assert one(ctranslate2_cudnn, whisper("4.4.0", "9.1.0.70")) == ("problem", expected)
    assert "--upgrade 'ctranslate2>=4.6.3' whisperx" in commands(ctranslate2_cudnn, whisper("4.4.0", "9.1.0.70"))
    assert "'ctranslate2<4.5'" in commands(ctranslate2_cudnn, whisper("4.5.0", "8.9.2.26"))
    assert one(ctranslate2_cudnn, whisper("4.5.0", "9.1.0.70")) == ("pass", "")
    assert one(ctranslate2_cudnn, whisper("4.8.5", "8.9.2.26")) == ("pass", "")  # it needs none
    assert one(ctranslate2_cudnn, environment(torch())) == ("pass", "")
    closed = change(whisper("4.4.0", "9.1.0.70"), "pythons.0.packages", Unknown("closed"))
    assert one(ctranslate2_cudnn, closed) == ("unknown", "closed")
