"""Each planted fault gives the finding that names it, first and alone; what follows from it stands under it."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.facts import Facts, GpuProcess
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import framework, live
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

CHECKS = catalogue.load()
H100 = m.machine()
CPU_BUILD = framework("torch", "2.9.1+cpu", cuda=None, variant="cpu", live=live(0))
DEAD: dict[str, Any] = {
    "outcome": "failed",
    "error": "device-error",
    "message": "CUDA error: unspecified launch failure",
}


def fault(name: str, facts: Facts = H100, **changes: Any) -> Facts:
    return m.ill(facts, name, **changes)


def slow(facts: Facts = H100, part: float = 0.3) -> Facts:
    """All products at a part of their speed."""
    for test in facts.smoke.runs[0].tests:
        if test.name in ("matmul", "stress"):
            facts = m.ill(
                facts, f"{test.name} {test.variant}".strip(), figures={"rate": part * (test.figure("rate") or 0)}
            )
    return facts


FAULTS: dict[str, tuple[Facts, str]] = {
    "one element of a product": (fault("matmul bf16", notes={"worst_ratio": 40.0, "worst_row": 311}), "wrong-result"),
    "no numbers": (
        fault("matmul fp16", figures={"error": 1.0}, notes={"not_finite": 12, "part_error": 1.0}),
        "wrong-result",
    ),
    "TF32 forced": (
        having(
            fault(
                "mnist",
                fault("matmul fp32", figures={"error": 2.9e-4}, notes={"part_error": 2.9e-4}),
                figures={"gradient error": 8.7e-3, "loss error": 7e-5},
                notes={"smallest_gradient_error": 5.6e-4},
            ),
            host__environment={"NVIDIA_TF32_OVERRIDE": "1"},
        ),
        "tf32-in-force",
    ),
    "a bit that flips now and then": (fault("matmul bf16", notes={"not_repeated": 1}), "not-reproducible"),
    "a bit that flips under load": (fault("stress", notes={"wrong": 3}), "unstable-product"),
    "a lost image": (
        fault(
            "mnist",
            figures={"gradient error": 4.5e-2, "loss error": 5.8e-4},
            notes={"smallest_gradient_error": 3.6e-3},
        ),
        "wrong-training",
    ),
    "a step that was not taken": (fault("mnist", figures={"step error": 1.0, "descent": 0.0}), "wrong-training"),
    "autocast that does nothing": (fault("mixed-precision", figures={"difference": 0.0}), "autocast-idle"),
    "gradients that overflow": (fault("mixed-precision", notes={"not_finite": 9}), "wrong-mixed-precision"),
    "a copy that is corrupted": (
        fault("matmul", fault("transfer", notes={"differing": 64}), figures={"error": 0.5}),
        "corrupted-copy",
    ),
    "pageable memory passed as pinned": (
        fault("transfer", notes={"pinned": False}, figures={"h2d pinned": 9.0, "d2h pinned": 8.5}),
        "memory-not-pinned",
    ),
    "CUDA_LAUNCH_BLOCKING": (
        having(fault("overlap", figures={"overlap": 0.02}), host__environment={"CUDA_LAUNCH_BLOCKING": "1"}),
        "no-overlap",
    ),
    "a stream that does not wait": (fault("overlap", notes={"wrong": 4096}), "wrong-order"),
    "the memory of the far processor": (
        fault("transfer", figures={"h2d pinned": 30.0, "d2h pinned": 29.0}),
        "slow-link",
    ),
    "a link that trained to four lanes": (
        m.watched(fault("transfer", figures={"h2d pinned": 13.5, "d2h pinned": 13.5}), lambda _: {"link_width": 4}),
        "link-trained-down",
    ),
    "another kernel than the fast one": (slow(part=0.4), "slow-matmul"),
    "no tensor-core kernels": (slow(part=0.12), "tensor-cores-idle"),
    "kernels compiled from PTX": (fault("matmul", figures={"first call": 45.0}), "slow-first-call"),
    "memory that is slow": (
        fault("bandwidth", figures={"copy": 1400.0, "triad": 1390.0, "read": 1300.0}),
        "slow-memory",
    ),
    "memory that forgets": (fault("bandwidth", notes={"wrong": 2}), "corrupted-memory"),
    "a forward pass that is wrong": (fault("inference fp32", figures={"error": 0.2}), "wrong-inference"),
    "a GPU that is slower than the CPU": (fault("inference", figures={"speed-up 256": 0.4}), "slower-than-cpu"),
    "no C compiler": (
        fault("fused", outcome="failed", error="other", message="RuntimeError: Failed to find C compiler."),
        "fused-fails",
    ),
    "a compiler that errs": (fault("fused", figures={"error": 0.01}), "fused-wrong"),
    "kernels that are not joined": (fault("fused", figures={"speed-up": 1.0}), "fused-not-faster"),
    "ACS between GPUs": (m.between(name="peer 0-3", notes={"differing": 4096}), "corrupted-peer"),
    "an NVLink that is slow": (
        having(m.between(name="peer", figures={"rate": 60.0}), **{f"gpus__{i}__utilization": 0 for i in range(8)}),
        "slow-peer",
    ),
    "a sum that is wrong": (m.between(name="allreduce", notes={"wrong": 8}), "wrong-sum"),
    "a gradient that is lost": (
        m.between(name="data-parallel", figures={"gradient error": 0.1}, notes={"shares": "1 0 1 1 1 1 1 1"}),
        "wrong-data-parallel",
    ),
    "a sum over another way": (m.between(name="allreduce", figures={"bus rate": 20.0}), "slow-allreduce"),
    "heat in the first seconds": (fault("stress", figures={"last third": 0.8}), "heat-soak"),
    "heat that throttles": (
        m.watched(H100, lambda _: {"reasons": ("hw-slowdown", "hw-thermal-slowdown"), "sm_clock": 900.0}),
        "throttled",
    ),
    "one slow GPU of eight": (
        m.ill(m.machine(m.H100, 8), "matmul bf16", at=5, figures={"rate": 680.0}),
        "slower-than-sisters",
    ),
    "memory errors": (
        m.watched(
            fault("matmul bf16", figures={"error": 0.3}),
            lambda test: {"ecc_uncorrected": 1} if test.name == "matmul" else {},
        ),
        "uncorrected-ecc",
    ),
    "corrected memory errors": (
        m.watched(H100, lambda test: {"ecc_corrected": 4} if test.name == "bandwidth" else {}),
        "corrected-ecc",
    ),
    "a link that repeats packets": (
        m.watched(H100, lambda test: {"pcie_replays": 900} if test.name == "transfer" else {}),
        "pcie-replays",
    ),
    "an NVLink that retrains itself": (
        m.watched(H100, lambda test: {"nvlink_recoveries": 2} if test.name == "stress" else {}),
        "nvlink-errors",
    ),
    "a hang": (
        m.of_run(fault("matmul bf16", outcome="hung", message="It did not answer for 60 s."), outcome="hung"),
        "hangs",
    ),
    "a crash": (
        m.of_run(fault("mnist", outcome="died", error="other", message="SIGSEGV ended it."), outcome="died"),
        "crashes",
    ),
    "no memory left": (
        fault("matmul bf16", outcome="failed", error="out-of-memory", message="CUDA out of memory."),
        "out-of-memory",
    ),
    "a dead context": (
        m.of_run(m.ill(H100, "matmul bf16", **DEAD), outcome="failed", error="device-error"),
        "device-error",
    ),
    "an error": (
        fault("matmul fp8", outcome="failed", error="other", message="RuntimeError: CUBLAS_STATUS_NOT_SUPPORTED"),
        "fails",
    ),
    "no import": (
        m.of_run(H100, outcome="failed", error="other", stage="import", message="ImportError: libcudnn.so.9", tests=()),
        "import-fails",
    ),
    "no device": (m.of_run(H100, outcome="unsupported", message="No CUDA GPUs are available", tests=()), "no-device"),
    "a second process": (slow(m.of_run(H100, others=1, utilization=98), 0.3), "busy"),
    "another GPU's process": (
        having(m.between(name="peer", figures={"rate": 60.0}), gpus__3__utilization=97, gpus__3__performance_state=0),
        "",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_first_and_alone(name: str) -> None:
    facts, check = FAULTS[name]
    report = build(facts, judge(facts, CHECKS))
    found = [f.check for f in report.findings if f.check.startswith("smoke.")]
    assert found == ([f"smoke.{check}"] if check else [])
    assert report.findings == () or not check or report.findings[0].check == f"smoke.{check}"


def test_every_check_has_a_planted_fault() -> None:
    advice = {"tf32-not-used", "reduced-precision", "uneven-link"}  # rows of their own tests
    planted = {check for _, check in FAULTS.values() if check}
    assert {one.id.removeprefix("smoke.") for one in CHECKS if one.area == "smoke"} == planted | advice


@pytest.mark.parametrize(
    ("facts", "cause", "smoke"),
    [
        (
            having(fault("matmul bf16", figures={"error": 0.2}), gpus__0__ecc_uncorrected=2),
            "device.ecc-uncorrected",
            "smoke.wrong-result",
        ),
        (
            having(m.of_run(H100, outcome="unsupported", message="no", tests=()), pythons__0__frameworks__0=CPU_BUILD),
            "pytorch.cpu-build",
            "smoke.no-device",
        ),
        (
            having(
                fault("matmul bf16", outcome="failed", error="out-of-memory", message="CUDA out of memory."),
                gpus__0__memory_used=79 << 30,
                gpus__0__processes=(GpuProcess(pid=7, name="vllm", memory=78 << 30, user=0, state="S"),),
            ),
            "health.memory-held",
            "smoke.out-of-memory",
        ),
    ],
    ids=["memory errors in the log", "a build for the CPU", "a full memory"],
)
def test_what_was_known_before_explains_what_was_measured(facts: Facts, cause: str, smoke: str) -> None:
    report = build(facts, judge(facts, CHECKS))
    assert report.findings[0].check == cause
    assert smoke in [consequence.check for consequence in report.findings[0].consequences]


def test_another_framework_explains_nothing() -> None:
    crashed = m.of_run(H100, outcome="died", error="other", message="SIGSEGV ended it.", stage="start", tests=())
    other = having(crashed, pythons__0__frameworks__0__name="tensorflow", pythons__0__frameworks__0__cuda=None)
    report = build(other, judge(other, CHECKS))
    assert "smoke.crashes" in [finding.check for finding in report.findings]


def test_an_unknown_idleness_is_no_pass_and_no_finding() -> None:
    facts = m.of_run(slow(part=0.3), others=Unknown("NVML: Not Supported"), utilization=Unknown("NVML: Not Supported"))
    verdicts = {v.check.id: v for v in judge(facts, CHECKS)}
    for name in ("slow-matmul", "tensor-cores-idle", "slow-memory", "slow-link"):
        assert (verdicts[f"smoke.{name}"].outcome.value, verdicts[f"smoke.{name}"].message) == (
            "unknown",
            "NVML: Not Supported",
        )
