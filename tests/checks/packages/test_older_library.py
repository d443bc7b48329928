"""Compiled packages that call functions which the driver or a CUDA library here does not have yet."""

from gpudoctor.check_engine import run
from gpudoctor.checks.packages.import_fails import import_fails
from tests.builders import change
from tests.checks.environments import SITE, commands, torch
from tests.checks.packages.test_loading import imported, machine


def test_a_driver_that_lacks_a_function() -> None:
    error = f"ImportError: {SITE}/sgl_kernel/common_ops.abi3.so: undefined symbol: cuGreenCtxDestroy"
    facts = machine(imported("sgl-kernel", "0.2.7", error=error), torch=torch("2.7.1", cuda="12.6"))
    [cause] = [v.problem.cause or "" for v in run(import_fails, facts) if v.problem]
    assert "libcuda.so.1 lacks the function" in cause
    typed = commands(import_fails, facts)
    assert typed.startswith("Install driver 560.28.03 or newer: branch 580 supports CUDA 12.6.")
    assert "pip install 'sgl-kernel<0.2.7'" in typed
    assert "Reinstall sgl-kernel in the same version" not in typed


def test_a_cuda_library_that_is_older_than_what_was_built_with_it() -> None:
    error = (
        f"OSError: {SITE}/transformer_engine/libtransformer_engine.so: undefined symbol: "
        "cublasLtGroupedMatrixLayoutInit_internal, version libcublasLt.so.13"
    )
    facts = machine(imported("transformer-engine", "2.12.0", error=error))
    [cause] = [v.problem.cause or "" for v in run(import_fails, facts) if v.problem]
    assert "a libcublasLt.so.13 that is older than the one with which" in cause
    typed = commands(import_fails, facts).splitlines()
    assert typed[0].startswith("Install a newer nvidia-cublas, which has cublasLtGroupedMatrixLayoutInit_internal.")
    assert typed[1].endswith("pip install --upgrade 'nvidia-cublas==13.*'")
    on_path = change(facts, "host.environment", {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"})
    unset, line, *rest = commands(import_fails, on_path).splitlines()
    assert unset.startswith("Unset LD_LIBRARY_PATH, from which an older libcublasLt.so.13 may come.")
    assert (line, rest) == ("unset LD_LIBRARY_PATH", typed)


def test_a_pytorch_that_does_not_read_an_operators_annotations() -> None:
    error = (
        "ValueError: infer_schema(func): Parameter kernel_size has unsupported type list[int]. The valid types are: x"
    )
    typed = commands(import_fails, machine(imported("comfy-kitchen", "0.2.20", error=error)))
    assert typed.startswith("Install PyTorch 2.7 or newer, with the torchvision and torchaudio of that release")
