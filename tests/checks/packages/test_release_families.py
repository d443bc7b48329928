"""Packages of one family, and parts that have to be installed with them."""

import pytest

from gpudoctor.checks.cuda.nvvm_missing import nvvm_missing
from gpudoctor.checks.packages.mixed_releases import mixed_releases
from gpudoctor.checks.packages.part_missing import part_missing
from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.checks.python.unmet_requirement import unmet_requirement
from gpudoctor.checks.rocm.device_wheel_missing import device_wheel_missing
from gpudoctor.facts import DriverLibrary, Facts, Package, PackageImport, UnmetRequirement
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, environment, one, package, severity, torch

PIP = "/opt/env/bin/python -m pip"


def having(*packages: Package, cuda: str = "13.0") -> Facts:
    return environment(torch("2.9.1", cuda=cuda), packages=packages)


def flashinfer(cubin: str = "0.6.11", cache: str = "0.6.11+cu130") -> Facts:
    names = {"flashinfer-python": "0.6.11", "flashinfer-cubin": cubin, "flashinfer-jit-cache": cache}
    return having(*(package(name, version) for name, version in names.items()))


def test_flashinfer() -> None:
    facts = flashinfer(cache="0.6.9+cu130")
    expected = (
        "flashinfer-jit-cache 0.6.9+cu130 does not match flashinfer-python 0.6.11: import flashinfer raises "
        "RuntimeError."
    )
    assert one(mixed_releases, facts) == ("problem", expected)
    assert severity(mixed_releases, facts) == "fail"
    typed = commands(mixed_releases, facts).splitlines()
    assert typed[1] == (
        f"{PIP} install --index-url https://flashinfer.ai/whl/cu130 --no-deps flashinfer-jit-cache==0.6.11"
    )
    assert typed[3] == f"{PIP} uninstall -y flashinfer-jit-cache"
    silenced = change(facts, "host.environment", {"FLASHINFER_DISABLE_VERSION_CHECK": "1"})
    assert severity(mixed_releases, silenced) == "warn"
    assert one(mixed_releases, silenced)[1].endswith("FLASHINFER_DISABLE_VERSION_CHECK=1 only turns off its check.")


def test_flashinfer_cubin_is_on_pypi_for_a_part_of_its_releases() -> None:
    both = commands(mixed_releases, flashinfer("0.6.12", "0.6.9+cu130"))
    assert "--no-deps --extra-index-url https://flashinfer.ai/whl flashinfer-cubin==0.6.11" in both
    assert "Remove flashinfer-cubin and flashinfer-jit-cache" in both
    unknown = change(flashinfer(cache="0.6.9"), "pythons.0.frameworks.0.cuda", Unknown("closed"))
    assert f"{PIP} install" not in commands(mixed_releases, unknown)  # its index is not known


def rapids(error: str | None = None, package_name: str = "cudf-cu12") -> Facts:
    """Librmm of a newer release than cudf, and what an import did."""
    names = {"cudf-cu12": "25.8.0", "libcudf-cu12": "25.8.0", "librmm-cu12": "25.10.0", "numba-cuda": "0.18.1"}
    facts = having(*(package(name, version) for name, version in names.items()), cuda="12.8")
    one_import = PackageImport(package=package_name, version="25.8.0", module="cudf", error=error)
    pin = UnmetRequirement(package="libcudf-cu12", version="25.8.0", requires="librmm-cu12==25.8.*", found="25.10.0")
    return change(change(facts, "pythons.0.imports", (one_import,)), "pythons.0.unmet", (pin,))


SYMBOL = "ImportError: /x/libcudf.so: undefined symbol: _ZNK3rmm16cuda_stream_view10is_defaultEv"


@pytest.mark.parametrize(
    ("error", "of", "status", "nvvm"),
    [
        (SYMBOL, "cudf-cu12", "fail", "warn"),
        (None, "cudf-cu12", "warn", "fail"),
        (SYMBOL, "flash-attn", "warn", "warn"),  # the import of another package says nothing about this family
    ],
)
def test_a_family_whose_import_fails_comes_first(error: str | None, of: str, status: str, nvvm: str) -> None:
    facts = rapids(error, of)
    assert severity(mixed_releases, facts) == status
    assert severity(nvvm_missing, facts) == nvvm
    assert one(unmet_requirement, facts) == ("pass", "")


@pytest.mark.parametrize(
    "packages",
    [
        {"flashinfer-python": "0.6.16", "flashinfer-cubin": "0.6.16", "flashinfer-jit-cache": "0.6.16+cu130"},
        {"flashinfer-python": "0.6.7", "flashinfer-cubin": "0.6.7.post1"},
        {"transformer-engine": "2.5.0+3b87080"},
        {"transformer-engine": "2.5.0", "transformer-engine-cu12": "2.5.0", "transformer-engine-torch": "2.5.0"},
        {"cudf-cu12": "25.8.0", "rmm-cu12": "25.8.2", "ucxx-cu12": "0.45.0"},
        {"rocm": "7.11.0", "rocm-sdk-core": "7.11.0", "rocm-sdk-libraries-gfx1151": "7.11.0"},
        {"numpy": "2.1.0"},
    ],
)
def test_packages_of_one_release(packages: dict[str, str]) -> None:
    assert one(mixed_releases, having(*(package(*row) for row in packages.items()))) == ("pass", "")


def test_condas_packages_are_its_solvers_matter() -> None:
    mine = package("flashinfer-cubin", "0.6.9", installer="conda")
    assert one(mixed_releases, having(package("flashinfer-python", "0.6.11"), mine)) == ("pass", "")
    assert one(mixed_releases, change(having(), "pythons.0.packages", Unknown("closed"))) == ("unknown", "closed")


def test_rapids_is_told_once() -> None:
    pin = UnmetRequirement(package="cudf-cu12", version="25.8.0", requires="rmm-cu12==25.8.*", found="25.10.0")
    facts = having(package("cudf-cu12", "25.8.0"), package("rmm-cu12", "25.10.0"))
    facts = change(facts, "pythons.0.unmet", (pin,))
    expected = "rmm-cu12 25.10.0 does not match cudf-cu12 25.8.0: their compiled parts may lack each other's symbols."
    assert one(mixed_releases, facts) == ("problem", expected)
    assert severity(mixed_releases, facts) == "warn"
    assert f"{PIP} install --no-deps 'rmm-cu12==25.8.*'" in commands(mixed_releases, facts)
    assert one(unmet_requirement, facts) == ("pass", "")


def test_amds_split_wheels() -> None:
    facts = having(package("rocm", "7.11.0"), package("rocm-sdk-libraries-gfx1151", "7.10.0"))
    assert one(mixed_releases, facts)[1].startswith("rocm-sdk-libraries-gfx1151 7.10.0 does not match rocm 7.11.0: ")
    said = commands(mixed_releases, facts)
    assert "Install rocm-sdk-libraries-gfx1151==7.11.0, as rocm 7.11.0, from the index that they came from." in said
    assert f"{PIP} install" not in said


SPLIT = ("transformer_engine_cu12==2.5.0", "transformer_engine_torch==2.5.0; extra == 'pytorch'")


def test_transformer_engine_without_its_part_for_pytorch() -> None:
    facts = having(package("transformer-engine", "2.5.0", requires=SPLIT))
    expected = (
        "transformer-engine 2.5.0 is installed without transformer-engine-torch, its part for PyTorch, which is not "
        "installed: import transformer_engine.pytorch fails."
    )
    assert one(part_missing, facts) == ("problem", expected)
    assert f"{PIP} install --no-build-isolation 'transformer-engine[pytorch]==2.5.0'" in commands(part_missing, facts)
    for other in ("transformer-engine-torch", "transformer-engine-jax"):
        assert one(
            part_missing, having(package("transformer-engine", "2.5.0", requires=SPLIT), package(other, "2.5.0"))
        )[0] == ("pass")
    assert one(part_missing, having(package("transformer-engine", "2.5.0+nv25.10")))[0] == "pass"  # one distribution
    assert (
        one(part_missing, environment(packages=(package("transformer-engine", "2.5.0", requires=SPLIT),)))[0] == "pass"
    )


@pytest.mark.parametrize(
    ("owner", "other", "needs"),
    [
        (("flashinfer-python", "0.2.10"), ("cuda-python", "13.0.0"), "cuda-python<13"),
        (("flashinfer-python", "0.2.10"), ("cuda-python", "12.9.1"), None),
        (("flashinfer-python", "0.6.11"), ("cuda-python", "13.0.0"), None),
        (("vllm", "0.7.2"), ("pynvml", "11.5.3"), "pynvml>=12"),
        (("vllm", "0.7.2"), ("pynvml", "12.0.0"), None),
        (("vllm", "0.6.6.post1"), ("pynvml", "12.0.0"), "pynvml<12"),
        (("vllm", "0.9.0"), ("pynvml", "11.5.3"), None),
        (("vllm", "0.7.2"), ("nvidia-ml-py", "12.560.30"), None),
        (("transformers", "5.5.4"), ("accelerate", "1.0.1"), "accelerate>=1.1"),
        (("transformers", "4.57.1"), ("accelerate", "0.25.0"), "accelerate>=0.26"),
        (("transformers", "4.57.1"), ("accelerate", "1.0.1"), "accelerate>=1.3"),
        (("transformers", "4.51.3"), ("accelerate", "1.0.1"), None),
        (("transformers", "5.5.4"), ("bitsandbytes", "0.45.5"), "bitsandbytes>=0.46.1"),
        (("transformers", "4.57.1"), ("bitsandbytes", "0.45.5"), None),
        (("vllm", "0.10.2"), ("bitsandbytes", "0.45.5"), "bitsandbytes>=0.46.1"),
        (("vllm", "0.10.2"), ("bitsandbytes", "0.48.1"), None),
        (("transformers", "4.50.3"), ("kernels", "0.15.1"), None),
        (("transformers", "5.12.1"), ("kernels", "0.14.1"), None),
        (("transformers", "5.13.0"), ("kernels", "0.15.2"), None),
        (("tilelang", "0.1.8"), ("apache-tvm-ffi", "0.1.11"), "apache-tvm-ffi<0.1.10"),
        (("tilelang", "0.1.8"), ("apache-tvm-ffi", "0.1.9"), None),
        (("tilelang", "0.1.9"), ("apache-tvm-ffi", "0.1.12"), None),
        (("tilelang", "0.1.11"), ("apache-tvm-ffi", "0.1.12"), "apache-tvm-ffi<0.1.12"),
        (("tilelang", "0.1.11"), ("apache-tvm-ffi", "0.1.11"), None),
        (("tilelang", "0.1.12"), ("apache-tvm-ffi", "0.1.12"), None),
    ],
)
def test_what_no_metadata_names(owner: tuple[str, str], other: tuple[str, str], needs: str | None) -> None:
    facts = having(package(*owner), package(*other))
    outcome, message = one(undeclared_requirement, facts)
    if needs is None:
        assert (outcome, message) == ("pass", "")
    else:
        assert message.startswith(f"{' '.join(owner)} needs {needs}; {other[1]} is installed: ")
        assert f"{PIP} install '{needs}'" in commands(undeclared_requirement, facts)


def test_transformers_that_names_no_version_of_kernels() -> None:
    facts = having(package("transformers", "5.8.1"), package("kernels", "0.15.1"))
    assert one(undeclared_requirement, facts)[1].startswith("transformers 5.8.1 needs kernels<0.15; 0.15.1 is ")
    typed = commands(undeclared_requirement, facts)
    assert "Install kernels<0.13, or transformers 5.13 or newer." in typed
    assert f"{PIP} install 'kernels<0.13'" in typed


IGNORE = "XFORMERS_IGNORE_FLASH_VERSION_CHECK"


def xformers(version: str, flash: str | None, **more: tuple[str, ...]) -> Facts:
    others = (package("flash-attn", flash),) if flash else ()
    return having(package("xformers", version, **more), *others)


@pytest.mark.parametrize(
    ("version", "flash", "needs"),
    [
        ("0.0.29.post3", "2.8.3", None),  # takes PyTorch's kernels instead
        ("0.0.30", "2.7.4.post1", None),
        ("0.0.30", "2.8.0.post2", "<2.7.5"),
        ("0.0.31.post1", "2.8.0.post2", None),
        ("0.0.31.post1", "2.8.2", "<2.8.1"),
        ("0.0.32.post2", "2.8.2", None),
        ("0.0.32.post2", "2.8.3+cu12torch2.8cxx11abitrue", "<2.8.3"),
        ("0.0.33.post2", "2.8.3", None),
        ("0.0.35", "2.6.3", ">=2.7.1"),
        ("0.0.32.post2", None, None),
    ],
)
def test_the_flash_attn_that_xformers_was_tested_with(version: str, flash: str | None, needs: str | None) -> None:
    facts = xformers(version, flash)
    if needs is None:
        assert one(undeclared_requirement, facts) == ("pass", "")
        return
    expected = f"xformers {version} needs flash-attn{needs}; {flash} is installed: import xformers.ops raises "
    assert one(undeclared_requirement, facts)[1].startswith(expected)
    typed = commands(undeclared_requirement, facts).splitlines()
    assert typed[1] == f"export {IGNORE}=1"
    assert typed[3] == f"{PIP} uninstall -y xformers"
    silenced = change(facts, "host.environment", {IGNORE: "1"})
    assert one(undeclared_requirement, silenced) == ("pass", "")


def test_an_xformers_with_flash_attention_of_its_own_or_that_another_needs() -> None:
    own = xformers("0.0.32", "2.8.3", libraries=("_C.so", "_C_flashattention.cpython-311-x86_64-linux-gnu.so"))
    assert one(undeclared_requirement, own) == ("pass", "")
    vllm = package("vllm", "0.10.2", requires=("xformers==0.0.32.post1 ; platform_system == 'Linux'",))
    pinned = having(package("xformers", "0.0.32.post1"), package("flash-attn", "2.8.3"), vllm)
    assert "uninstall" not in commands(undeclared_requirement, pinned)


def test_a_package_for_a_newer_pytorch_stays_older() -> None:
    facts = environment(torch("2.5.1"), packages=(package("torch", "2.5.1"), package("comfy-kitchen", "0.2.28")))
    assert one(undeclared_requirement, facts)[1].startswith("comfy-kitchen 0.2.28 needs torch>=2.7; 2.5.1 is installed")
    assert f"{PIP} install 'comfy-kitchen<0.2.28'" in commands(undeclared_requirement, facts)
    for kitchen, number in (("0.2.27", "2.5.1"), ("0.2.28", "2.7.0")):
        there = (package("torch", number), package("comfy-kitchen", kitchen))
        assert one(undeclared_requirement, environment(torch(number), packages=there)) == ("pass", "")


@pytest.mark.parametrize(
    ("mamba", "conv", "spec"),
    [
        ("1.0.1", "1.1.1", "causal-conv1d==1.0.2"),
        ("1.0.1", "1.0.2", None),
        ("1.1.1", "1.0.2", "causal-conv1d==1.1.1"),
        ("1.1.1", "1.2.0.post2", "causal-conv1d==1.1.1"),
        ("1.1.4", "1.1.3.post1", None),
        ("1.2.0.post1", "1.1.1", "'causal-conv1d>=1.4,<1.5.1'"),
        ("2.2.4", "1.5.2", "'causal-conv1d>=1.4,<1.5.1'"),
        ("2.2.4", "1.5.0.post8", None),
        ("2.2.5", "1.5.2", None),
        ("2.2.4", None, None),
    ],
)
def test_the_arguments_of_causal_conv1d(mamba: str, conv: str | None, spec: str | None) -> None:
    others = (package("causal-conv1d", conv),) if conv else ()
    facts = having(package("mamba-ssm", mamba), *others)
    if spec is None:
        assert one(undeclared_requirement, facts) == ("pass", "")
        return
    assert "causal_conv1d_fwd(): incompatible function arguments" in one(undeclared_requirement, facts)[1]
    typed = commands(undeclared_requirement, facts).splitlines()
    assert typed[1] == f"{PIP} install --no-build-isolation {spec}"
    assert typed[3] == f"{PIP} uninstall -y causal-conv1d"


def web(gradio: str, hub: str, *others: Package) -> Facts:
    return having(package("gradio", gradio), package("huggingface-hub", hub), *others)


def test_gradio_and_starlette_1() -> None:
    there = (package("starlette", "1.10.0"), package("fastapi", "0.165.0"))
    facts = web("4.44.1", "0.36.0", *there)
    assert one(undeclared_requirement, facts)[1].startswith("gradio 4.44.1 needs starlette<1; 1.10.0 is installed")
    assert "install 'starlette<1' fastapi" in commands(undeclared_requirement, facts)
    assert one(undeclared_requirement, web("5.49.1", "0.36.0", *there)) == ("pass", "")


def test_gradio_and_a_newer_hub() -> None:
    facts = web("4.44.1", "1.13.0")
    assert one(undeclared_requirement, facts)[1].startswith(
        "gradio 4.44.1 needs huggingface-hub<1; 1.13.0 is installed"
    )
    assert f"{PIP} install 'huggingface-hub<1'" in commands(undeclared_requirement, facts)
    for fits in (web("4.44.1", "0.36.2"), web("5.7.1", "1.13.0"), web("4.8.0", "1.13.0")):
        assert one(undeclared_requirement, fits) == ("pass", "")
    # transformers 5 has to keep the newer one
    new = web("4.44.1", "1.13.0", package("transformers", "5.14.0", requires=("huggingface-hub<2.0,>=1.3.0",)))
    typed = commands(undeclared_requirement, new)
    assert "Install gradio 5.7.1 or newer; transformers cannot use huggingface-hub<1." in typed
    assert f"{PIP} install 'gradio>=5.7.1' 'huggingface-hub<2.0,>=1.3.0'" in typed


def test_diffusers_and_a_newer_torchao() -> None:
    facts = having(package("diffusers", "0.36.0"), package("torchao", "0.16.0"))
    assert one(undeclared_requirement, facts)[1].startswith("diffusers 0.36.0 needs torchao<0.16; 0.16.0 is installed")
    assert f"{PIP} install 'diffusers>=0.37'" in commands(undeclared_requirement, facts)
    for one_of, ao in (("0.37.0", "0.16.0"), ("0.36.0", "0.15.0"), ("0.32.2", "0.16.0")):
        assert one(undeclared_requirement, having(package("diffusers", one_of), package("torchao", ao)))[0] == "pass"


def sglang(kernel: str | None, *lines: str, cuda: str = "12.4") -> Facts:
    others = (package("sgl-kernel", kernel),) if kernel else ()
    return having(package("sglang", "0.4.6.post5", requires=lines), *others, cuda=cuda)


PINNED = "sgl-kernel==0.1.4; extra == 'srt'"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (sglang("0.0.9.post2", PINNED), "problem"),
        (sglang("0.0.9.post2", PINNED.replace("'", '"')), "problem"),
        (sglang("0.1.4", PINNED), "pass"),
        (sglang("0.1.5", PINNED), "pass"),
        (sglang(None, PINNED), "pass"),
        (sglang("0.0.9.post2", "numpy"), "pass"),
        (sglang("0.0.9.post2", "sgl-kernel==0.1.4; extra == 'blackwell'"), "pass"),
        (change(sglang("0.0.9.post2", PINNED), "pythons.0.frameworks.0.variant", "rocm"), "pass"),
    ],
)
def test_the_release_that_an_extra_names(facts: Facts, verdict: str) -> None:
    assert one(undeclared_requirement, facts)[0] == verdict
    if verdict == "problem":
        assert one(undeclared_requirement, facts)[1].startswith(
            "sglang 0.4.6.post5 needs sgl-kernel>=0.1.4; 0.0.9.post2 "
        )
        assert f"{PIP} install sgl-kernel==0.1.4" in commands(undeclared_requirement, facts)


def test_a_library_that_pytorch_does_not_contain() -> None:
    def frontend(version: str, cuda: str = "12.8") -> Facts:
        return having(package("nvidia-cudnn-frontend", version), cuda=cuda)

    facts = frontend("1.19.0")
    expected = "nvidia-cudnn-frontend 1.19.0 opens libcudart.so.13 and no other, which is not found; "
    assert one(undeclared_requirement, facts)[1].startswith(expected)
    assert severity(undeclared_requirement, facts) == "warn"
    assert f"{PIP} install 'nvidia-cudnn-frontend>=1.19.1'" in commands(undeclared_requirement, facts)
    for other in (frontend("1.18.0"), frontend("1.19.1"), frontend("1.19.0", "13.0")):
        assert one(undeclared_requirement, other) == ("pass", "")
    path = "/usr/local/cuda/lib64/libcudart.so.13"
    there = DriverLibrary(soname="libcudart.so.13", path=path, real=path)
    assert one(undeclared_requirement, change(facts, "toolkits.libraries", (there,))) == ("pass", "")
    closed = change(facts, "toolkits.libraries", Unknown("closed"))
    assert one(undeclared_requirement, closed) == ("unknown", "closed")


LISTED = ("amd-torch-device-gfx1100==2.13.0+rocm10.0.0; extra == 'device-gfx1100'", "filelock")


@pytest.mark.parametrize(
    ("wheel", "version", "verdict"),
    [
        (None, "2.13.0+rocm10.0.0", "problem"),
        ("amd-torch-device-gfx1201", "2.13.0+rocm10.0.0", "problem"),
        ("amd-torch-device-gfx1100", "2.13.0+rocm10.0.0", "pass"),
        ("amd-torch-device-gfx11", "2.13.0+rocm10.0.0", "pass"),
        ("amd-torch-device-all", "2.13.0+rocm10.0.0", "pass"),
    ],
)
def test_the_wheel_with_the_kernels_for_a_gpu(wheel: str | None, version: str, verdict: str) -> None:
    facts = with_framework(framework("torch", version, cuda=None, hip="10.0", variant="rocm"), amd_host())
    installed = (package("torch", version, requires=LISTED), *((package(wheel, version),) if wheel else ()))
    facts = change(facts, "pythons.0.packages", installed)
    assert one(device_wheel_missing, facts)[0] == verdict
    if verdict == "problem":
        expected = (
            "torch 2.13.0+rocm10.0.0 is installed without amd-torch-device-gfx1100: it has no kernels for this GPU."
        )
        assert one(device_wheel_missing, facts)[1] == expected
        assert (
            f"{PIP} install --index-url https://stable.repo.amd.com/rocm/whl-next/ "
            "'torch[device-gfx1100]==2.13.0+rocm10.0.0'"
        ) in commands(device_wheel_missing, facts)


def test_a_pytorch_that_holds_its_kernels_lists_no_wheels_for_them() -> None:
    facts = with_framework(framework("torch", "2.9.0+rocm6.4", cuda=None, hip="6.4", variant="rocm"), amd_host())
    facts = change(facts, "pythons.0.packages", (package("torch", "2.9.0+rocm6.4", requires=("filelock",)),))
    assert one(device_wheel_missing, facts) == ("pass", "")
    unknown = change(facts, "gpus.0.gfx", Unknown("closed"))
    assert one(device_wheel_missing, unknown) == ("unknown", "closed")
