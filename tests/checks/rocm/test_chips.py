"""Which AMD chips ROCm's libraries and the kernel's compute driver know, and which GPU programs pick."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.rocm.gpu_without_kfd import gpu_without_kfd
from gpudoctor.checks.rocm.rocblas_without_gfx import rocblas_without_gfx
from gpudoctor.checks.visibility.hip_integrated_first import hip_integrated_first
from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, gpu
from tests.checks.amd_machines import IGPU, RADEON, amd_host
from tests.checks.environments import commands

ARCHS = ("gfx900", "gfx1030", "gfx1100")


def amd(gfx: str, index: int = 0, **changes: Any) -> Gpu:
    return gpu(index, vendor="amd", name="Radeon", gfx=gfx, capability=None, uuid=None, **changes)


def wheel(gfx: str, blas: Any = ("gfx1030", "gfx1100"), **env: str) -> Facts:
    """One GPU, and a wheel whose rocBLAS has kernels for these targets."""
    facts = change(amd_host((amd(gfx),), ARCHS), "pythons.0.frameworks.0.blas", blas)
    return change(facts, "host.environment", env)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (wheel("gfx1100"), ("pass", "")),
        (wheel("gfx900", blas=()), ("pass", "")),  # it uses the system's
        (wheel("gfx900", ROCBLAS_TENSILE_LIBPATH="/opt/mine"), ("pass", "")),
        (wheel("gfx1031", HSA_OVERRIDE_GFX_VERSION="10.3.0"), ("pass", "")),
        (wheel("gfx1010"), ("pass", "")),  # PyTorch itself has nothing for it: rocm.gfx-not-in-wheel
        (wheel("gfx1101", blas=("gfx11-generic",)), ("pass", "")),
        (
            wheel("gfx900"),
            (
                "problem",
                "PyTorch 2.7.1+rocm6.3 was compiled for gfx900, but the rocBLAS in it has no TensileLibrary for GPU 0 "
                "(Radeon, gfx900), only for gfx1030 gfx1100: matmul aborts.",
            ),
        ),
        (wheel("gfx900", blas=Unknown("closed")), ("unknown", "closed")),
        (change(wheel("gfx900"), "gpus.0.gfx", Unknown("no KFD")), ("unknown", "no KFD")),
    ],
)
def test_rocblas_without_gfx(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(rocblas_without_gfx, facts) == [verdict]


def test_which_wheel_has_such_a_rocblas() -> None:
    newer = change(wheel("gfx900"), "pythons.0.frameworks.0.hip", "7.2.26015")
    assert "https://download.pytorch.org/whl/rocm6.3" in commands(rocblas_without_gfx, newer)
    assert "Build rocBLAS from source" in commands(rocblas_without_gfx, wheel("gfx900"))  # it has that wheel


FIRST = amd("gfx902", integrated=True)
SECOND = amd("gfx1032", 1)


def two(gpus: tuple[Gpu, ...] = (FIRST, SECOND), archs: tuple[str, ...] = ("gfx1030", "gfx1100"), **env: str) -> Facts:
    return change(amd_host(gpus, archs), "host.environment", env)


SAID = (
    "HIP's first GPU is device 0 (Radeon gfx902), which is integrated into the CPU; the graphics card is device 1 "
    "(Radeon gfx1032). Programs pick the first"
)
NOTHING = f"{SAID}, for which the installed framework has no kernels."


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (amd_host((RADEON, IGPU)), None),
        (two((FIRST,)), None),
        (two(HIP_VISIBLE_DEVICES="1"), None),
        (two(ROCR_VISIBLE_DEVICES="1"), None),
        (two(HSA_OVERRIDE_GFX_VERSION="10.3.0"), NOTHING),
        (two(), NOTHING),
        (two(archs=("gfx9-generic",)), f"{SAID}."),
    ],
)
def test_hip_integrated_first(facts: Facts, message: str | None) -> None:
    assert ask(hip_integrated_first, facts) == [("problem", message) if message else ("pass", "")]


def test_an_igpu_that_computes_is_advice() -> None:
    (verdict,) = run(hip_integrated_first, two(archs=("gfx9-generic",)))
    assert verdict.severity is Severity.ADVICE
    (verdict,) = run(hip_integrated_first, two())
    assert verdict.severity is Severity.WARNING
    assert "export HIP_VISIBLE_DEVICES=1" in commands(hip_integrated_first, two())


def test_nobody_knows_what_is_integrated() -> None:
    facts = change(two(), "gpus.0.integrated", Unknown("no PCI"))
    assert ask(hip_integrated_first, facts) == [("unknown", "no PCI")]


@pytest.mark.parametrize(
    ("gpus", "message"),
    [
        ((RADEON,), None),
        ((amd("gfx601"), amd("gfx1100", 1)), None),
        (
            (amd("gfx601"),),
            "Radeon (gfx601) is a GCN 1 (Southern Islands) chip: KFD, which ROCm needs, does not support it.",
        ),
    ],
)
def test_gpu_without_kfd(gpus: tuple[Gpu, ...], message: str | None) -> None:
    assert ask(gpu_without_kfd, amd_host(gpus)) == [("problem", message) if message else ("pass", "")]
