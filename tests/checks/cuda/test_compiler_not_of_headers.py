"""Wheels of the CUDA compiler and of the CUDA headers."""

from typing import Any

import pytest

from gpudoctor.checks.cuda.compiler_not_of_headers import compiler_not_of_headers
from gpudoctor.facts import CudaHome, Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import SITE, change_toolkits, commands, environment, machine, one, package, torch

IN_WHEELS = f"{SITE}/nvidia/cu13"
OTHERS = {"nvidia-cuda-crt": "13.3.33", "nvidia-nvvm": "13.3.33", "nvidia-cuda-cccl": "13.0.85"}


def host(nvcc: str = "13.3.33", runtime: str = "13.0.96", home: str | None = IN_WHEELS, **packages: str) -> Facts:
    found = {"nvidia-cuda-nvcc": nvcc, "nvidia-cuda-runtime": runtime} | OTHERS
    found |= {name.replace("_", "-"): version for name, version in (packages or {"flashinfer_python": "0.6"}).items()}
    toolkits = change_toolkits(home=CudaHome(path=home, found_by="CUDA_HOME", exists=True, nvcc="13.3"))
    given = tuple(package(name, version) for name, version in found.items())
    return environment(torch("2.11.0", cuda="13.0"), packages=given, facts=machine("13.1", toolkits))


SAYS = (
    f"nvcc is of CUDA 13.3 (nvidia-cuda-nvcc 13.3.33), but the headers in {IN_WHEELS} are of CUDA 13.0 "
    "(nvidia-cuda-runtime 13.0.96): what flashinfer-python compiles at run time is refused."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS)),
        (host("13.0.88"), ("pass", "")),
        (host(home="/usr/local/cuda"), ("pass", "")),  # build tools take another nvcc, with its own headers
        (host(home=None), ("pass", "")),
        (host(transformers="5.9"), ("pass", "")),  # nothing compiles
        (host(flashinfer_python="0.6", flashinfer_jit_cache="0.6"), ("pass", "")),
        (change(host(), "pythons.0.packages", Unknown("closed")), ("unknown", "closed")),
        (change(host(), "pythons.0.prefix", Unknown("closed")), ("unknown", "closed")),
    ],
)
def test_compiler_not_of_headers(facts: Facts, verdict: tuple[str, Any]) -> None:
    assert one(compiler_not_of_headers, facts) == verdict


def test_the_compiler_follows_the_headers() -> None:
    said = commands(compiler_not_of_headers, host())
    assert "'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*'" in said
    assert "cccl" not in said  # it is of the headers' release already
