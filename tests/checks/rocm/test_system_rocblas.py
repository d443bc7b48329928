"""The system's rocBLAS, and the GPUs for which it has no kernels."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Outcome, Severity, run
from gpudoctor.checks.llamacpp.arch_missing import arch_missing
from gpudoctor.checks.rocm.system_rocblas_without_gfx import system_rocblas_without_gfx
from gpudoctor.facts import Facts, Gpu, LlamaCpp, Package
from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.tasks.as_typed import typed
from tests.builders import ask, card, change, framework, gpu
from tests.checks.amd_machines import IGPU, RADEON, amd_host

PATH = "/opt/rocm-6.4.0/lib/rocblas/library"
BLAS = ("gfx1030", "gfx1100", "gfx908")
PASS, SKIPPED = ("pass", ""), ("skipped", "")
WHY = Unknown("closed")


def amd(gfx: Any, index: int = 0, **changes: Any) -> Gpu:
    return gpu(index, vendor="amd", name="Radeon", gfx=gfx, capability=None, uuid=None, **changes)


def having(*gpus: Gpu, blas: Any = BLAS, path: Any = PATH, rocm: Any = "6.4.0", **changes: Any) -> Facts:
    """A machine without any framework, and the rocBLAS of ROCm 6.4."""
    facts = amd_host(gpus, blas=blas, blas_path=path, rocm=rocm)
    facts = change(facts, "pythons", ())
    for where, value in changes.items():
        facts = change(facts, where.replace("__", "."), value)
    return facts


MI50 = amd("gfx906")
LACKS = (
    "The rocBLAS of ROCm 6.4.0 on this system has no kernels for {}, which GPU 0 (Radeon) is, only for gfx1030 gfx1100 "
    "gfx908: programs that use it abort at the first matrix multiplication."
)
VEGA = ("problem", LACKS.format("gfx906"))


@pytest.mark.parametrize(
    ("facts", "verdicts"),
    [
        (having(MI50), [VEGA]),
        (having(amd("gfx1031")), [("problem", LACKS.format("gfx1031"))]),
        (having(RADEON), [PASS]),
        (having(amd("gfx1101"), blas=("gfx11-generic",)), [PASS]),
        # an override as the shell has it, one that it has no kernels for, one that is malformed
        (having(amd("gfx1031"), host__environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}), [PASS]),
        (
            having(amd("gfx1031"), host__environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.1"}),
            [("problem", LACKS.format("gfx1031"))],
        ),
        (having(amd("gfx1031"), host__environment={"HSA_OVERRIDE_GFX_VERSION": "ten"}), [PASS]),
        (having(MI50, host__environment={"ROCBLAS_TENSILE_LIBPATH": "/opt/mine"}), [PASS]),
        # the graphics in the CPU next to a card of AMD's, alone, and next to one of NVIDIA's
        (having(RADEON, IGPU), [PASS]),
        (having(amd("gfx1103", integrated=True)), [("problem", LACKS.format("gfx1103"))]),
        (having(amd("gfx1103", integrated=True), pci=(card(vendor="1002", driver="amdgpu"), card(1))), [SKIPPED]),
        # a mask that leaves another card
        (having(RADEON, amd("gfx906", 1), host__environment={"HIP_VISIBLE_DEVICES": "0"}), [PASS]),
        # nothing to read it from
        (having(MI50, blas=(), path=None), [SKIPPED]),
        (having(MI50, blas=WHY, path=WHY), [("unknown", "closed")]),
        (having(amd(WHY)), [("unknown", "closed")]),
    ],
)
def test_system_rocblas_without_gfx(facts: Facts, verdicts: list[tuple[str, str]]) -> None:
    assert ask(system_rocblas_without_gfx, facts) == verdicts


def with_torch(blas: Any, *more: Any, packages: tuple[str, ...] = (), **changes: Any) -> Facts:
    """A PyTorch with a rocBLAS of its own, or without one, and other frameworks."""
    facts = amd_host((MI50,), ("gfx906",), blas=BLAS, blas_path=PATH, rocm="6.4.0")
    facts = change(facts, "pythons.0.frameworks.0.blas", blas)
    own = tuple(Package(name=name, version="7.14.0", directory="/x") for name in packages)
    facts = change(facts, "pythons.0.packages", (*known_or(facts.pythons[0].packages, ()), *own))
    frameworks = (*facts.pythons[0].frameworks, *more)
    facts = change(facts, "pythons.0.frameworks", frameworks)
    for where, value in changes.items():
        facts = change(facts, where.replace("__", "."), value)
    return facts


def llama(blas: tuple[str, ...]) -> LlamaCpp:
    backend = GgmlBackend(kind="hip", path="/x/libggml-hip.so", linked=True, targets=("gfx906",), blas=blas)
    return LlamaCpp(program="/x/llama-server", backends=(backend,))


JAX = framework(name="jax", variant="rocm", hip="6.4", cuda=None)


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (having(MI50), Severity.WARNING),
        (with_torch(("gfx906",)), Severity.ADVICE),
        (with_torch(WHY), Severity.ADVICE),
        (with_torch(()), Severity.WARNING),
        (with_torch((), packages=("rocm-sdk-libraries-gfx90x",)), Severity.ADVICE),
        (with_torch((), pythons__0__kind="conda"), Severity.ADVICE),
        (with_torch(("gfx906",), JAX), Severity.WARNING),
        (with_torch(("gfx906",), llama_cpp=llama(BLAS)), Severity.WARNING),
        (having(MI50, llama_cpp=llama(("gfx906",))), Severity.ADVICE),
        (having(MI50, ollama__program="/usr/local/bin/ollama", ollama__backends=("cpu", "hip")), Severity.ADVICE),
        (having(MI50, ollama__program="/usr/local/bin/ollama", ollama__backends=("cpu",)), Severity.WARNING),
        (having(MI50, msgspec.structs.replace(RADEON, index=1)), Severity.ADVICE),  # a card that has kernels
    ],
)
def test_how_bad_it_is(facts: Facts, severity: Severity) -> None:
    found = [v for v in run(system_rocblas_without_gfx, facts) if v.outcome is Outcome.PROBLEM]
    assert [v.severity for v in found] == [severity]


def fixes(facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
    return [(fix.message, fix.commands) for fix in run(system_rocblas_without_gfx, facts)[0].fixes]


def test_a_target_that_rocblas_dropped() -> None:
    older, files = fixes(having(MI50))
    assert older[0].startswith("Install ROCm 6.3, the last release whose rocBLAS has kernels for gfx906. https://")
    verify = run(system_rocblas_without_gfx, having(MI50))[0].fixes[0].verify
    assert verify
    assert "/opt -path '*/rocblas/library/TensileLibrary_lazy_gfx906.dat'" in typed((verify,))[0]
    assert "HSA_OVERRIDE" not in str(fixes(having(MI50)))
    assert files[1] == (f"sudo cp -n FOLDER/*gfx906* {PATH}/",)
    (only,) = fixes(having(MI50, path="/usr/lib64/rocblas/library", rocm=Unknown("no version file")))
    assert only[0].startswith("Install ROCm 6.3")
    inside = fixes(having(MI50, host__container="docker"))
    assert inside[0][0].startswith("Use an image with ROCm 6.3, the last release")


def test_a_sibling_or_another_release() -> None:
    assert [commands for _, commands in fixes(having(amd("gfx1031")))] == [("export HSA_OVERRIDE_GFX_VERSION=10.3.0",)]
    first, second = fixes(having(amd("gfx1102")))
    assert first[1] == ("export HSA_OVERRIDE_GFX_VERSION=11.0.0",)
    assert second[0].startswith("Install ROCm 7.14 or newer")
    assert fixes(having(amd("gfx1031"), blas=("gfx908",)))[0][0].startswith("Build rocBLAS from source for gfx1031")
    assert fixes(having(amd("gfx1103")))[0][0].startswith("Install ROCm 7.14 or newer, whose rocBLAS has kernels")
    assert fixes(having(amd("gfx1103"), host__container="docker"))[0][0].startswith("Use an image with ROCm 7.14")


def test_a_release_that_supports_the_gpu() -> None:
    ((message, commands),) = fixes(having(amd("gfx942")))
    assert message.startswith("Install the package with rocBLAS's kernels for gfx942, rocblas: ROCm 6.4.0 supports")
    assert commands == ("sudo apt-get install --reinstall rocblas",)
    for release in ("7.14.1", "7.15.0"):
        ((message, commands),) = fixes(having(amd("gfx1201"), rocm=release))
        assert f"amdrocm-blas{release[:4]}-gfx1201" in message
        assert commands == ()


def test_the_knowledge_of_rocblas() -> None:
    assert (rocm.last_with_blas("gfx906"), rocm.last_with_blas("gfx1030")) == ("6.3", None)
    assert rocm.guide("6.3") == "https://rocm.docs.amd.com/projects/install-on-linux/en/docs-6.3.1/"
    assert all(rocm.release(last) for last in rocm.rocm().rocblas.last.values())


def test_llama_cpp_that_loads_the_same() -> None:
    of_system, bundled = with_torch((), llama_cpp=llama(BLAS)), with_torch((), llama_cpp=llama(("gfx1200",)))
    ids = ("rocm.system-rocblas-without-gfx",)
    for facts, ruled_out in ((of_system, ()), (bundled, ids)):
        (verdict,) = run(arch_missing, facts)
        assert verdict.problem
        assert verdict.problem.not_caused_by == ruled_out
