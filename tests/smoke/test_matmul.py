"""`matmul`: which data types get a line; their numbers are held in the tests of each backend and in the matrix."""

import pytest

from gpudoctor.workers.smoke.tests import matmul
from tests.smoke.bench_kit import Device, bench, results


@pytest.fixture(autouse=True)
def no_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "_one", lambda *_: None)


def test_a_data_type_that_was_asked_for_and_is_not_there_says_so() -> None:
    (bf16,) = results(matmul.run, bench(dtypes=["bf16"]))
    assert (bf16.variant, bf16.outcome) == ("bf16", "unsupported")
    assert bf16.message == "NumPy has no matmul in bf16."


def test_a_data_type_that_nobody_asked_for_is_passed_over() -> None:
    assert [one.variant for one in results(matmul.run, bench())] == ["fp32"]


def test_a_type_that_the_device_has_beside_the_list_is_no_product() -> None:
    class Lenient(Device):
        def precision(self, dtype: str):  # type: ignore[no-untyped-def]
            return super().precision("fp32")

    fp32, fp8 = results(matmul.run, bench(Lenient(), dtypes=["fp8", "fp32"]))
    assert (fp32.variant, fp32.outcome) == ("fp32", "done")
    assert (fp8.variant, fp8.outcome, fp8.message) == ("fp8", "unsupported", "NumPy has no matmul in fp8.")
