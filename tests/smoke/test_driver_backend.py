"""The driver's backend as a worker of its own: what it tells when all is well, and what each fault looks like."""

import re
from collections import Counter
from pathlib import Path

import pytest

from gpudoctor.facts import SmokeTest
from gpudoctor.smoketests.worker_output import WorkerOutput
from tests.smoke.driver_kit import libcuda, worked

__all__ = ["libcuda"]

ALL = "matmul,mnist,transfer,bandwidth,inference,mixed-precision,fused,stress"


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calls") / "names"


@pytest.fixture(scope="module")
def well(libcuda: str, calls: Path) -> WorkerOutput:
    """All tests on one device, well."""
    return worked(libcuda, ALL, {"dtypes": ["fp32", "bf16"]}, STANDIN_RECORD=str(calls))


@pytest.fixture(scope="module")
def pair(libcuda: str) -> WorkerOutput:
    """What wants more memory, or two devices."""
    return worked(libcuda, "overlap,peer,allreduce", STANDIN_FREE="300")


def one(reported: WorkerOutput, name: str, variant: str | None = None) -> SmokeTest:
    """The only result of a test."""
    (found,) = [test for test in reported.tests if test.name == name and variant in (None, test.variant)]
    return found


def figure(test: SmokeTest, name: str) -> float:
    value = test.figure(name)
    assert value is not None, (name, test)
    return value


def test_the_device_is_told(well: WorkerOutput) -> None:
    wanted = {"kind": "cuda", "name": "NVIDIA GPU 0", "processors": 4, "copy_engines": 2, "version": None}
    assert {name: well.facts[name] for name in wanted} == wanted
    assert well.facts["memory_free"] == 270 << 20
    assert well.facts["outcome"] == "done"


@pytest.mark.parametrize("name", ["mnist", "transfer", "bandwidth", "inference", "stress"])
def test_what_needs_no_framework_is_done(well: WorkerOutput, name: str) -> None:
    assert [(test.outcome, test.message) for test in well.tests if test.name == name] == [("done", "")]


def test_the_training_step_is_right_to_float32(well: WorkerOutput) -> None:
    step = one(well, "mnist")
    assert figure(step, "loss error") < 1e-6
    assert 1e-9 < figure(step, "gradient error") < 3e-6
    assert figure(step, "step error") < 1e-5
    assert figure(step, "loss left") < 0.95
    assert step.notes["not_repeated"] == 0


def test_copies_are_whole_and_known_as_pinned(well: WorkerOutput) -> None:
    notes = one(well, "transfer").notes
    assert (notes["differing"], notes["pieces_differing"], notes["pinned"], notes["pinned_refused"]) == (
        0,
        0,
        True,
        None,
    )
    for name in ("h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable"):
        assert figure(one(well, "transfer"), name) > 0


def test_the_vectors_hold_what_was_written(well: WorkerOutput) -> None:
    assert one(well, "bandwidth").notes["wrong"] == 0
    assert min(figure(one(well, "bandwidth"), name) for name in ("copy", "triad", "read")) > 0


def test_the_cpu_and_the_device_say_the_same(well: WorkerOutput) -> None:
    assert figure(one(well, "inference"), "error") < 1e-6
    assert figure(one(well, "inference"), "speed-up 256") > 0


def test_stress_repeats_to_the_bit(well: WorkerOutput) -> None:
    notes = one(well, "stress").notes
    assert (notes["wrong"], notes["not_finite"], notes["dtype"]) == (0, 0, "fp32")


def test_what_needs_a_framework_says_so(well: WorkerOutput) -> None:
    mixed, fused = one(well, "mixed-precision"), one(well, "fused")
    assert (mixed.outcome, mixed.message) == (
        "unsupported", "The bare driver computes in fp32 only: bf16 needs a framework.",
    )  # fmt: skip
    assert (fused.outcome, fused.message) == (
        "unsupported", "The bare driver compiles no expressions: that needs a framework.",
    )  # fmt: skip


def test_the_context_is_given_back_with_its_streams_and_events(well: WorkerOutput, calls: Path) -> None:
    assert well.facts["outcome"] == "done"
    found = Counter(calls.read_text().split())
    assert found["cuDevicePrimaryCtxRetain"] == found["cuDevicePrimaryCtxRelease_v2"] == 1
    assert found["cuModuleLoadDataEx"] == found["cuModuleUnload"] == 1
    assert found["cuStreamCreate"] == found["cuStreamDestroy_v2"]
    assert found["cuEventCreate"] == found["cuEventDestroy_v2"]
    assert calls.read_text().split()[-1] == "cuDevicePrimaryCtxRelease_v2"


def test_products_are_right_to_float32(well: WorkerOutput) -> None:
    product, other = one(well, "matmul", "fp32"), one(well, "matmul", "bf16")
    assert product.outcome == "done"
    assert 1e-7 < figure(product, "error") < 1e-6
    assert (product.notes["checked"], product.notes["size"]) == (512, 512)
    assert (product.notes["not_repeated"], product.notes["not_finite"]) == (0, 0)
    assert float(product.notes["worst_ratio"] or 0) < 4
    assert (other.outcome, other.message) == (
        "unsupported",
        "The bare driver computes in fp32 only: bf16 needs a framework.",
    )


def test_a_copy_beside_products_keeps_the_order(pair: WorkerOutput) -> None:
    both = one(pair, "overlap")
    assert (both.outcome, both.notes["wrong"], both.notes["engines"]) == ("done", 0, 2)
    assert figure(both, "duplex") > 0


def test_copies_between_devices_arrive_both_ways(pair: WorkerOutput) -> None:
    found = [test for test in pair.tests if test.name == "peer"]
    assert [(test.variant, test.outcome) for test in found] == [("0-1", "done"), ("1-0", "done")]
    assert all((test.notes["can_access"], test.notes["differing"]) == (True, 0) for test in found)
    assert all(figure(test, "rate") > 0 for test in found)


def test_sums_over_all_devices_need_a_framework(pair: WorkerOutput) -> None:
    assert one(pair, "allreduce").message == "All-reduce needs NCCL, which comes with a framework."


def test_streams_out_of_order_show(libcuda: str) -> None:
    reported = worked(libcuda, "overlap", STANDIN_FREE="300", STANDIN_STALE="1")
    assert int(one(reported, "overlap").notes["wrong"] or 0) > 1 << 20


def test_a_lost_end_of_a_copy_between_devices_shows(libcuda: str) -> None:
    reported = worked(libcuda, "peer", STANDIN_FREE="300", STANDIN_LOSE="peer", STANDIN_NO_PEER="1")
    for test in reported.tests:
        assert test.notes["can_access"] is False
        assert 4000 < int(test.notes["differing"] or 0) <= 4096


def test_one_device_has_no_peer(libcuda: str) -> None:
    assert one(worked(libcuda, "peer", STANDIN_DEVICES="1"), "peer").outcome == "unsupported"


def test_a_bit_that_flips_in_products_shows(libcuda: str) -> None:
    """The product that is checked whole is right, and so is the first of those that are timed; no other is."""
    product = one(worked(libcuda, "matmul", STANDIN_FLIP="2", STANDIN_FLIP_FROM="4"), "matmul")
    assert product.outcome == "done"
    assert product.notes["not_repeated"] == 1
    assert figure(product, "error") < 1e-6


def test_a_bit_that_always_flips_is_found_with_its_row(libcuda: str) -> None:
    product = one(worked(libcuda, "matmul", STANDIN_FLIP="1"), "matmul")
    assert figure(product, "error") > 1e-4
    assert product.notes["worst_row"] == 256
    assert float(product.notes["worst_ratio"] or 0) > 100


def test_a_bit_that_flips_in_a_training_step_shows(libcuda: str) -> None:
    step = one(worked(libcuda, "mnist", STANDIN_FLIP="1"), "mnist")
    assert figure(step, "gradient error") > 1e-3


@pytest.mark.parametrize("lost", ["h2d", "d2h"])
def test_a_lost_end_of_a_copy_shows_in_the_training_step(libcuda: str, lost: str) -> None:
    assert figure(one(worked(libcuda, "mnist", STANDIN_LOSE=lost), "mnist"), "gradient error") > 1e-3


@pytest.mark.parametrize("lost", ["h2d", "d2h"])
def test_a_lost_end_of_a_copy_shows_in_the_transfer(libcuda: str, lost: str) -> None:
    notes = one(worked(libcuda, "transfer", STANDIN_LOSE=lost), "transfer").notes
    assert 4000 < int(notes["differing"] or 0) <= 2 * 4096  # of pinned and of pageable memory; 1 in 256 was zero


@pytest.mark.parametrize("lost", ["odd h2d", "odd d2h"])
def test_lost_copies_of_odd_length_show_as_pieces(libcuda: str, lost: str) -> None:
    notes = one(worked(libcuda, "transfer", STANDIN_LOSE=lost), "transfer").notes
    assert notes["differing"] == 0
    assert int(notes["pieces_differing"] or 0) > 1 << 20


@pytest.mark.parametrize(
    ("code", "name"),
    [("700", "ILLEGAL_ADDRESS"), ("719", "LAUNCH_FAILED"), ("702", "LAUNCH_TIMEOUT"), ("214", "ECC_UNCORRECTABLE")],
)
def test_a_context_that_dies_ends_the_process_with_its_name(libcuda: str, code: str, name: str) -> None:
    reported = worked(libcuda, "mnist,transfer", STANDIN_DEAD_AT="7", STANDIN_DEAD_CODE=code)
    (step,) = reported.tests
    assert (step.name, step.outcome, step.error) == ("mnist", "failed", "device-error")
    assert f"CUDA_ERROR_{name}" in step.message
    assert "cuMemcpyDtoHAsync_v2" in step.message
    assert (reported.facts["outcome"], reported.facts["error"]) == ("failed", "device-error")


def test_full_memory_fails_one_test_and_not_the_next(libcuda: str) -> None:
    reported = worked(libcuda, "mnist,transfer", STANDIN_OOM_AT="3")
    step, copies = reported.tests
    assert (step.outcome, step.error) == ("failed", "out-of-memory")
    assert "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)" in step.message
    assert copies.outcome == "done"


def test_memory_that_cannot_be_pinned_is_told_and_the_rest_measured(libcuda: str) -> None:
    copies = one(worked(libcuda, "transfer", STANDIN_PINNED="refused"), "transfer")
    assert copies.outcome == "done"
    assert "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY" in str(copies.notes["pinned_refused"])
    assert copies.figure("h2d pinned") is None
    assert figure(copies, "h2d pageable") > 0


def test_memory_that_only_passes_for_pinned_is_told(libcuda: str) -> None:
    assert one(worked(libcuda, "transfer", STANDIN_PINNED="pageable"), "transfer").notes["pinned"] is False


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("218", "INVALID_PTX (a PTX JIT compilation failed)"),
        ("209", "NO_BINARY_FOR_GPU (no kernel image is available for execution on the device)"),
        ("222", "UNSUPPORTED_PTX_VERSION (the provided PTX was compiled with an unsupported toolchain.)"),
        ("221", "JIT_COMPILER_NOT_FOUND (PTX JIT compiler library not found)"),
    ],
)
def test_kernels_that_do_not_compile_are_told_in_the_compilers_words_and_copies_go_on(
    libcuda: str, code: str, name: str
) -> None:
    step, copies = worked(libcuda, "mnist,transfer", STANDIN_JIT=code).tests
    assert (step.outcome, step.error) == ("failed", "other")
    words = "ptxas application ptx input, line 5; fatal : Unsupported .version"
    assert f"cuModuleLoadDataEx: CUDA_ERROR_{name}: {words}" in step.message
    assert (copies.outcome, copies.notes["differing"]) == ("done", 0)


def test_a_gpu_older_than_the_kernels_copies_and_does_not_compute(libcuda: str) -> None:
    step, copies = worked(libcuda, "mnist,transfer", STANDIN_CAPABILITY="3").tests
    assert step.outcome == "unsupported"
    assert step.message == "The kernels need compute capability 5.0, and this GPU has 3.6."
    assert copies.outcome == "done"


def test_a_driver_that_does_not_start_is_told_by_its_errors_name(libcuda: str) -> None:
    reported = worked(libcuda, "mnist", STANDIN_CUINIT="100")
    assert reported.facts["outcome"] == "unsupported"
    words = "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
    assert reported.facts["message"] == f"The NVIDIA driver does not start: {words}."


def test_an_error_without_a_name_is_told_by_its_number(libcuda: str) -> None:
    assert "cuInit: error 4242 (unknown error)" in worked(libcuda, "mnist", STANDIN_CUINIT="4242").facts["message"]


def test_a_missing_library_is_told_in_the_loaders_words(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library, but long enough to hold the header of one" * 2)
    reported = worked(str(tmp_path), "mnist")
    assert reported.facts["outcome"] == "unsupported"
    assert "libcuda.so.1: invalid ELF header" in reported.facts["message"]


@pytest.mark.parametrize(
    ("task", "env", "words"),
    [
        ({"device": 5}, {}, "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE"),
        ({}, {"STANDIN_RETAIN": "46"}, "cuDevicePrimaryCtxRetain: CUDA_ERROR_DEVICE_UNAVAILABLE"),
    ],
)
def test_a_device_that_cannot_be_had_fails_with_the_functions_name(
    libcuda: str, task: dict[str, object], env: dict[str, str], words: str
) -> None:
    reported = worked(libcuda, "mnist", task, **env)
    assert (reported.facts["outcome"], reported.tests) == ("failed", [])
    assert words in reported.facts["message"]


def test_the_cpu_is_not_its_business(libcuda: str) -> None:
    reported = worked(libcuda, "mnist", {"kind": "cpu"})
    assert reported.facts["message"] == "The bare driver computes on GPUs only."


def test_no_call_is_made_that_the_first_drivers_with_this_ptx_lack() -> None:
    """CUDA 9.0's cuda.h declares them all; a later one needs a way around."""
    from gpudoctor.workers.smoke.cuda import library

    late = {"cuDevicePrimaryCtxRelease_v2"}
    assert late == set(library.FORMER)
    assert not [name for name in library.SIGNATURES if re.search(r"_v3$|Graph|MemAllocAsync|VMM|LaunchKernelEx", name)]
