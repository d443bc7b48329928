"""Files of two wheels that write the same paths."""

from typing import Any

from gpudoctor.checks.packages.files_mixed import files_mixed
from gpudoctor.facts import Facts, FileMix
from tests.checks.environments import commands, environment, one, package, severity, torch

BASE, CU13 = "nvidia-cutlass-dsl-libs-base", "nvidia-cutlass-dsl-libs-cu13"
MIX = FileMix(packages=(BASE, CU13), files=("cutlass/_cutlass_ir.so", "cutlass/_gpu_ops_gen.py"))


def cutlass(*found: FileMix, **more: Any) -> Facts:
    """Both wheels next to a PyTorch."""
    both = (package(BASE, "4.5.0"), package(CU13, "4.5.0"))
    return environment(torch("2.11.0", **more), packages=both, mixed=found)


def test_files_mixed() -> None:
    expected = (
        f"{BASE} 4.5.0 and {CU13} 4.5.0 write the same files with different content, and what is installed is a "
        f"mixture: cutlass/_cutlass_ir.so is of {BASE}, cutlass/_gpu_ops_gen.py of {CU13}."
    )
    assert one(files_mixed, cutlass(MIX)) == ("problem", expected)
    assert one(files_mixed, cutlass()) == ("pass", "")
    assert severity(files_mixed, cutlass(MIX)) == "fail"


def test_the_wheel_for_the_cuda_of_pytorch_is_written_last() -> None:
    assert f"install --force-reinstall --no-deps {CU13}==4.5.0" in commands(files_mixed, cutlass(MIX, cuda="13.0"))
    assert f"install --force-reinstall --no-deps {BASE}==4.5.0" in commands(files_mixed, cutlass(MIX, cuda="12.9"))
