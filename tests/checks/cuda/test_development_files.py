"""Headers and link libraries next to nvcc, for packages that compile at run time."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.cuda.development_files_missing import development_files_missing
from gpudoctor.facts import CondaPackage, Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import BLACKWELL, commands, environment, machine, one, package, severity, torch

BOTH = ("nvrtc.h", "libnvrtc.so")


def host(lacks: Any = BOTH, *names: str, card: dict[str, Any] = BLACKWELL, path: str = "/usr/local/cuda") -> Facts:
    """A GPU for which FlashInfer compiles FP8 and FP4, and a toolkit 12.8."""
    found = toolkit("12.8", "CUDA_HOME")
    home = msgspec.structs.replace(found.home, path=path, lacks=lacks)
    packages = tuple(package(name, "0.6.7") for name in names or ("flashinfer-python",))
    facts = machine(toolkits=msgspec.structs.replace(found, home=home), card=card)
    return environment(torch("2.9.0+cu128", cuda="12.8"), packages=packages, facts=facts)


SAYS = "flashinfer-python 0.6.7 compiles kernels with /usr/local/cuda, which lacks {}: FP8 and FP4 GEMM and fused MoE "


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS.format("nvrtc.h and libnvrtc.so") + "fail to build.")),
        (host(("libnvrtc.so",)), ("problem", SAYS.format("libnvrtc.so") + "fail to build.")),
        (host(()), ("pass", "")),
        (host(card={}), ("pass", "")),  # it compiles no such kernels for Ampere
        (host(BOTH, "flashinfer-python", "flashinfer-jit-cache"), ("pass", "")),  # prebuilt
        (host(BOTH, "transformers"), ("pass", "")),
        (host(Unknown("closed"), "transformers"), ("pass", "")),
        (host(Unknown("closed")), ("unknown", "closed")),
        (change(host(), "toolkits.home.nvcc", None), ("pass", "")),  # another check's matter
        (change(host(), "toolkits.home.nvcc", Unknown("hung")), ("unknown", "hung")),
        (change(host(), "gpus.0.capability", Unknown("no NVML")), ("unknown", "no NVML")),
        (change(host(), "pythons.0.frameworks.0.variant", "cpu"), ("pass", "")),
    ],
)
def test_development_files_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(development_files_missing, facts) == verdict


WHEELS = "/opt/env/lib/python3.12/site-packages/nvidia/cu13"


def test_the_wheels_of_a_toolkit_have_no_names_for_the_linker() -> None:
    facts = host(("libcudart.so",), "sglang", path=WHEELS, card={})
    expected = f"sglang 0.6.7 compiles kernels with {WHEELS}, which lacks libcudart.so: all of them fail to build."
    assert one(development_files_missing, facts) == ("problem", expected)
    said = commands(development_files_missing, facts)
    assert f"ln -sfn lib {WHEELS}/lib64" in said
    assert f"ln -sf libcudart.so.12 {WHEELS}/lib/libcudart.so" in said
    assert one(development_files_missing, host(("libcudart.so",), "transformers", path=WHEELS)) == ("pass", "")
    installed = commands(development_files_missing, host(("libcudart.so",), "sglang"))
    assert "apt-get install cuda-cudart-dev-12-8" in installed
    assert "ln -s" not in installed


def test_the_sampler_wants_the_headers_of_curand() -> None:
    facts = host(("curand_kernel.h",), card={"capability": "8.9"})
    expected = (
        "flashinfer-python 0.6.7 compiles kernels with /usr/local/cuda, which lacks curand_kernel.h: sampling, FP4 "
        "GEMM and Hopper's attention fail to build."
    )
    assert one(development_files_missing, facts) == ("problem", expected)
    assert "apt-get install libcurand-dev-12-8" in commands(development_files_missing, facts)


def test_it_is_a_warning() -> None:
    assert severity(development_files_missing, host()) == "warn"  # only some kernels link to it


def test_where_the_files_come_from() -> None:
    assert "apt-get install cuda-nvrtc-dev-12-8" in commands(development_files_missing, host())
    other = commands(development_files_missing, host(path="/srv/toolkits/12.8"))
    assert "cuda-nvrtc-dev" not in other
    assert "cuda-toolkit-12-8" in other
    conda = change(
        host(path="/opt/env"), "pythons.0.conda", (CondaPackage(name="cuda-nvcc", version="12.8", build="0"),)
    )
    conda = change(change(conda, "pythons.0.prefix", "/opt/env"), "pythons.0.manager", "conda")
    assert "conda install -p /opt/env -c conda-forge cuda-nvrtc-dev cuda-version=12.8" in commands(
        development_files_missing, conda
    )
