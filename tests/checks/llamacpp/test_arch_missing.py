"""llama.cpp's code for GPUs, and the rocBLAS that it loads, against the GPUs that are here."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.llamacpp.arch_missing import arch_missing
from gpudoctor.facts import Facts, LlamaCpp, Need
from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host
from tests.checks.amd_machines import IGPU, RADEON, amd_host

PROGRAM, LIBRARY = "/src/llama.cpp/build/bin/llama-server", "/src/llama.cpp/build/bin/libggml-hip.so"
PASS = ("pass", "")


def having(facts: Facts, kind: str, targets: object, **changes: Any) -> Facts:
    backend = GgmlBackend(kind=kind, path=LIBRARY, linked=True, targets=targets, **changes)  # type: ignore[arg-type]
    return change(facts, "llama_cpp", LlamaCpp(program=PROGRAM, backends=(backend,)))


def krackan(**changes: Any) -> Facts:
    facts = change(amd_host(), "gpus.0.gfx", "gfx1152")
    return having(facts, "hip", ("gfx1100", "gfx1150", "gfx1151"), **changes)


def test_rocm_code_for_other_targets() -> None:
    name = "GPU 0 (Radeon RX 7900 XTX)"
    assert ask(arch_missing, krackan()) == [
        (
            "problem",
            f"llama.cpp ({PROGRAM}): {LIBRARY} has no code for gfx1152, which {name} is; it has gfx1100 gfx1150 "
            "gfx1151.",
        )
    ]
    first, second = run(arch_missing, krackan())[0].fixes
    assert first.commands[0] == ("cmake -S /src/llama.cpp -B /src/llama.cpp/build -DGGML_HIP=ON -DGPU_TARGETS=gfx1152")
    assert "-DGGML_VULKAN=ON" in second.commands[0]


def test_a_sibling_whose_kernels_it_runs() -> None:
    facts = having(change(amd_host(), "gpus.0.gfx", "gfx1032"), "hip", ("gfx1030",))
    assert run(arch_missing, facts)[0].fixes[0].commands == ("export HSA_OVERRIDE_GFX_VERSION=10.3.0",)
    assert ask(arch_missing, change(facts, "host.environment", {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})) == [PASS]


def test_rocblas_without_files_for_the_target() -> None:
    facts = having(change(amd_host(), "gpus.0.gfx", "gfx1152"), "hip", ("gfx1152",), blas=("gfx1100", "gfx1151"))
    ((outcome, message),) = ask(arch_missing, facts)
    assert outcome == "problem"
    assert "the rocBLAS that it loads has no kernels for gfx1152" in message
    assert run(arch_missing, facts)[0].fixes[0].message.startswith("Install ROCm 7.14 or newer")
    vega = having(change(amd_host(), "gpus.0.gfx", "gfx906"), "hip", ("gfx906",), blas=("gfx1030", "gfx908"))
    first, second = run(arch_missing, vega)[0].fixes
    assert first.message.startswith("Install ROCm 6.3, the last release whose rocBLAS has kernels for gfx906.")
    assert "-DGGML_VULKAN=ON" in second.commands[0]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (having(amd_host(), "hip", ("gfx1100",)), "pass"),
        (having(amd_host(), "hip", ("gfx11-generic",)), "pass"),
        (having(amd_host(), "hip", ("gfx1100",), blas=("gfx1100", "gfx1030")), "pass"),
        # The graphics in the CPU need no code next to a card that has it.
        (having(change(amd_host(), "gpus", (RADEON, IGPU)), "hip", ("gfx1100",)), "pass"),
        (having(amd_host(), "hip", Unknown("its code for GPUs is compressed")), "unknown"),
        (having(change(amd_host(), "gpus.0.gfx", Unknown("no answer")), "hip", ("gfx1100",)), "unknown"),
        (having(amd_host(), "hip", ()), "pass"),
        (having(amd_host(), "vulkan", ()), "pass"),
        (krackan(missing=(Need(soname="libhipblas.so.3", needed_by=LIBRARY),)), "pass"),  # library_not_found says so
        (having(nvidia_host(), "cuda", ("sm_86", "compute_86")), "pass"),
        (having(nvidia_host(), "cuda", ("sm_61",)), "problem"),
        (having(nvidia_host(), "hip", ("gfx1100",)), "pass"),  # no GPU of AMD's is here
    ],
)
def test_what_runs(facts: Facts, expected: str) -> None:
    assert [outcome for outcome, _ in ask(arch_missing, facts)] == [expected]


def test_cuda_is_built_for_the_gpu() -> None:
    facts = change(having(nvidia_host(), "cuda", ("sm_61",)), "gpus.0.capability", "12.0")
    assert "-DCMAKE_CUDA_ARCHITECTURES=120" in run(arch_missing, facts)[0].fixes[0].commands[0]
