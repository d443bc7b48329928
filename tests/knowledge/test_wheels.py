"""What wheels ask of one another and of the C library."""

import pytest

from gpudoctor.knowledge import tensorflow, torch, wheels
from gpudoctor.knowledge.kernels import version


@pytest.mark.parametrize(
    ("id_", "release", "libc"),
    [
        ("ubuntu", "18.04", "2.27"),
        ("ubuntu", "24.04", None),
        ("rhel", "8.10", "2.28"),
        ("alpine", "3.20.1", "musl"),
        ("arch", None, None),
    ],
)
def test_the_c_library_of_old_distributions(id_: str, release: str | None, libc: str | None) -> None:
    assert wheels.glibc_of(id_, release) == libc


def test_a_framework_without_wheels_for_the_processor_has_no_c_library() -> None:
    assert wheels.lowest_glibc("tensorflow", "aarch64") is None
    assert wheels.lowest_glibc("tensorflow", "aarch64", cpu=True) == "2.17"
    assert wheels.lowest_glibc("torch", "riscv64") is None


def test_the_rows_name_releases_that_the_other_tables_know() -> None:
    table = wheels.wheels()
    assert all(torch.release(number) for number in table.torch_nccl)
    assert all(tensorflow.release(number) for number in table.tensorflow)
    assert all(
        bound.startswith((">=", "==")) and version(bound[2:]) for row in table.tensorflow.values() for bound in row
    )


def test_one_wheel_for_several_gpus() -> None:
    assert torch.wheels_for(("7.5", "12.0"))[0] == torch.TorchChoice("2.14", "cu130")
    assert torch.wheels_for(("6.1", "12.0")) == ()
    assert torch.wheels_for(("8.9",), "12.4")[0] == torch.wheel_for("8.9", "12.4")
    assert {c.variant for c in torch.wheels_for(("8.9",), python="3.15")} >= {"cu132", "cu130"}
