"""Wrong numbers: judged on every device, busy or not, and never by a test that did not end."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, run
from gpudoctor.facts import Facts
from tests.builders import ask
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

CHECKS: dict[str, Check[Any]] = {one.id: one for one in catalogue.load() if one.area == "smoke"}
H100, CPU, T4, MI300X = m.machine(), m.on_cpu(), m.machine(m.T4), m.machine(m.MI300X)
ON = "PyTorch on GPU 0"
WELL = [("pass", "")]


def ill(name: str, facts: Facts = H100, **changes: Any) -> Facts:
    return m.ill(facts, name, **changes)


def problem(message: str) -> list[tuple[str, str]]:
    return [("problem", message)]


def product(dtype: str, error: float, facts: Facts = H100, **notes: Any) -> Facts:
    """Products in a data type with this error, and the part of the large one with the same."""
    return ill(f"matmul {dtype}", facts, figures={"error": error}, notes={"part_error": error} | notes)


def step(figures: dict[str, float], facts: Facts = H100, least: float = 1e-7) -> Facts:
    """A training step with these figures, each gradient at least so far off."""
    return ill("mnist", facts, figures=figures, notes={"smallest_gradient_error": least})


def tf32_step(facts: Facts = H100, **figures: float) -> Facts:
    """A training step as TF32 makes it."""
    return step({"gradient error": 8.7e-3, "loss error": 7e-5} | figures, facts, 5.6e-4)


SAYS = f"{ON} computes wrong matmul results: "
ROWS: list[tuple[str, Facts, list[tuple[str, str]]]] = [
    ("smoke.wrong-result", H100, WELL),
    ("smoke.wrong-result", CPU, WELL),
    ("smoke.wrong-result", product("fp32", 9e-6), WELL),
    (
        "smoke.wrong-result",
        product("fp32", 1.1e-5),
        problem(f"{SAYS}fp32: the relative error is 1.1e-05; rounding explains at most 1e-05."),
    ),
    ("smoke.wrong-result", product("fp32", 2.9e-4), WELL),  # TF32, which has a check of its own
    ("smoke.wrong-result", product("bf16", 5e-3), WELL),  # summed in bf16, likewise
    (
        "smoke.wrong-result",
        product("bf16", 1.3e-2),
        problem(f"{SAYS}bf16: the relative error is 1.3e-02; rounding explains at most 3e-03."),
    ),
    (
        "smoke.wrong-result",
        ill("matmul fp16", notes={"part_error": 0.7}),
        problem(f"{SAYS}fp16: the relative error is 7.0e-01; rounding explains at most 4e-04."),
    ),
    (
        "smoke.wrong-result",
        ill("matmul tf32", notes={"worst_ratio": 6.1, "worst_row": 12}),
        problem(f"{SAYS}tf32: row 12 is 6 times as far off as the others."),
    ),
    ("smoke.wrong-result", ill("matmul", notes={"worst_ratio": 5.9}), WELL),
    (
        "smoke.wrong-result",
        product("fp8", 1.0, ill("matmul bf16", figures={"error": 1.0}, notes={"not_finite": 1}), not_finite=0),
        problem(
            f"{SAYS}bf16: 1 element Inf or NaN; fp8: the relative error is 1.0e+00; rounding explains at most 1e-02."
        ),
    ),
    (
        "smoke.wrong-result",
        ill("matmul", CPU, figures={"error": 0.1}),
        problem(
            "NumPy on the CPU computes wrong matmul results: fp32: the relative error is 1.0e-01; rounding explains "
            "at most 1e-05."
        ),
    ),
    ("smoke.wrong-result", ill("matmul", outcome="hung"), [("skipped", "")]),
    ("smoke.wrong-result", ill("matmul", outcome="stopped"), [("skipped", "")]),
    ("smoke.wrong-result", ill("matmul", figures={"error": None}), [("skipped", "")]),
    ("smoke.tf32-in-force", H100, WELL),
    (
        "smoke.tf32-in-force",
        product("fp32", 7.7e-4),
        problem(f"{ON} computes float32 with TF32, although TF32 is disabled: matmul in fp32 is off by 7.7e-04."),
    ),
    (
        "smoke.tf32-in-force",
        tf32_step(product("fp32", 7.7e-4)),
        problem(
            f"{ON} computes float32 with TF32, although TF32 is disabled: matmul in fp32 is off by 7.7e-04; gradients "
            "of the training step are off by 8.7e-03."
        ),
    ),
    ("smoke.tf32-in-force", tf32_step(), WELL),  # the products were exact: `wrong-training` says both
    (
        "smoke.tf32-in-force",
        having(tf32_step(), host__environment={"NVIDIA_TF32_OVERRIDE": "1"}),
        problem(
            f"{ON} computes float32 with TF32, although TF32 is disabled: gradients of the training step are off by "
            "8.7e-03."
        ),
    ),
    ("smoke.tf32-in-force", tf32_step(T4), WELL),  # Turing has no TF32
    ("smoke.tf32-not-used", H100, WELL),
    (
        "smoke.tf32-not-used",
        product("tf32", 3.5e-7),
        problem(f"{ON} computes in full float32 although TF32 is enabled: the error is 3.5e-07."),
    ),
    (
        "smoke.tf32-not-used",
        having(product("tf32", 3.5e-7), gpus__0__capability=m.UNSEEN),
        [("unknown", "no driver was asked")],
    ),
    ("smoke.tf32-not-used", T4, WELL),
    ("smoke.tf32-not-used", MI300X, [("skipped", "")]),
    ("smoke.reduced-precision", H100, WELL),
    (
        "smoke.reduced-precision",
        product("bf16", 4e-3),
        problem(f"{ON} accumulates in reduced precision: the relative error is 4.0e-03 in bf16; 3e-03 is usual."),
    ),
    ("smoke.reduced-precision", product("bf16", 2e-2), WELL),  # wrong, not reduced
    ("smoke.reduced-precision", CPU, [("skipped", "")]),
    ("smoke.not-reproducible", H100, WELL),
    (
        "smoke.not-reproducible",
        ill("matmul bf16", notes={"not_repeated": 1}),
        problem(f"{ON} got different bits from the same matmul: 1 element in bf16."),
    ),
    ("smoke.not-reproducible", ill("matmul", CPU, notes={"not_repeated": 5}), [("skipped", "")]),
    ("smoke.not-reproducible", ill("matmul", notes={"not_repeated": None}), WELL),
    ("smoke.unstable-product", H100, WELL),
    (
        "smoke.unstable-product",
        ill("stress", notes={"wrong": 3, "not_finite": 1}),
        problem(
            f"{ON}, under load at 61 degrees C and 1700 MHz: 3 elements differed in 7000 repetitions of one matmul, 1 "
            "of them not finite."
        ),
    ),
    (
        "smoke.unstable-product",
        m.watched(ill("stress", figures={"error": 0.5}), lambda _: {"temperature": None, "sm_clock": m.UNSEEN}),
        problem(f"{ON}, under load: the first matmul already has a relative error of 5.0e-01 in bf16."),
    ),
    ("smoke.unstable-product", ill("stress", outcome="stopped", notes={"wrong": 3}), [("skipped", "")]),
    ("smoke.wrong-training", H100, WELL),
    ("smoke.wrong-training", CPU, WELL),
    ("smoke.wrong-training", tf32_step(product("fp32", 2.9e-4)), WELL),
    (
        "smoke.wrong-training",
        tf32_step(),
        problem(
            f"{ON} computes wrong training steps: the gradient of conv1.bias is off by 8.7e-03; rounding explains at "
            "most 1e-03."
        ),
    ),
    (
        "smoke.wrong-training",
        tf32_step(T4),
        problem(
            f"{ON} computes wrong training steps: the gradient of conv1.bias is off by 8.7e-03; rounding explains at "
            "most 1e-03."
        ),
    ),
    (
        "smoke.wrong-training",
        step({"loss error": 3e-5}),
        problem(f"{ON} computes wrong training steps: the loss is off by 3.0e-05; rounding explains at most 1e-05."),
    ),
    (
        "smoke.wrong-training",
        step({"gradient error": 5e-4}),
        problem(
            f"{ON} trains less precisely than float32: its worst gradient is off by 5.0e-04; rounding explains at "
            "most 1e-04."
        ),
    ),
    (
        "smoke.wrong-training",
        step({"step error": 1.0, "descent": 0.0}),
        problem(
            f"{ON} computes wrong training steps: the weight update does not match the gradient: off by 1.0e+00; "
            "rounding explains at most 1e-03; the loss fell by 0.00 of what the gradient predicts."
        ),
    ),
    (
        "smoke.wrong-training",
        step({"loss left": 0.97}),
        problem(f"{ON} computes wrong training steps: 97% of the loss remains after twenty steps."),
    ),
    ("smoke.wrong-training", having(step({"loss left": 0.97}), smoke__digits="MNIST (torchvision, verified)"), WELL),
    ("smoke.wrong-training", ill("mnist", outcome="unsupported"), [("skipped", "")]),
    ("smoke.wrong-mixed-precision", H100, WELL),
    (
        "smoke.wrong-mixed-precision",
        ill("mixed-precision", figures={"gradient error": 0.3}),
        problem(
            f"{ON} computes wrong training steps in mixed precision: gradients in bf16 are off by 3.0e-01; the type's "
            "rounding explains up to 0.15."
        ),
    ),
    (
        "smoke.wrong-mixed-precision",
        ill("mixed-precision", notes={"skipped": 3}),
        problem(f"{ON} computes wrong training steps in mixed precision: the loss scale was halved 3 times."),
    ),
    (
        "smoke.wrong-mixed-precision",
        ill("mixed-precision", figures={"loss error": 0.01}),
        problem(f"{ON} computes wrong training steps in mixed precision: the loss in bf16 is off by 1.0e-02."),
    ),
    (
        "smoke.wrong-mixed-precision",
        ill("mixed-precision", T4, notes={"not_finite": 2}),
        problem(f"{ON} computes wrong training steps in mixed precision: 2 gradients in fp16 are Inf or NaN."),
    ),
    ("smoke.wrong-mixed-precision", ill("mixed-precision", notes={"skipped": 2}), WELL),
    ("smoke.wrong-mixed-precision", ill("mixed-precision", outcome="unsupported"), [("skipped", "")]),
    ("smoke.autocast-idle", H100, WELL),
    (
        "smoke.autocast-idle",
        ill("mixed-precision", figures={"difference": 1e-6}),
        problem(f"{ON} gets the same numbers from its bf16 step as from float32."),
    ),
    ("smoke.autocast-idle", ill("mixed-precision", figures={"difference": None}), [("skipped", "")]),
    ("smoke.wrong-inference", H100, WELL),
    (
        "smoke.wrong-inference",
        ill("inference fp32", figures={"error": 2e-4}),
        problem(
            f"{ON} differs from the CPU reference in inference: the outputs are off by 2.0e-04 in fp32, where "
            "rounding explains up to 1e-04."
        ),
    ),
    ("smoke.wrong-inference", ill("inference bf16", figures={"error": 2e-2}), WELL),
    ("smoke.wrong-inference", ill("inference", figures={"error": None}), [("skipped", "")]),
    ("smoke.fused-wrong", H100, WELL),
    (
        "smoke.fused-wrong",
        ill("fused", figures={"error": 1e-3}),
        problem(f"{ON} computes wrong results in compiled kernels: off by 1.0e-03 in torch.compile at worst."),
    ),
    ("smoke.fused-wrong", ill("fused", outcome="unsupported"), [("skipped", "")]),
    ("smoke.corrupted-copy", H100, WELL),
    ("smoke.corrupted-copy", CPU, WELL),
    (
        "smoke.corrupted-copy",
        ill("transfer", notes={"differing": 1, "pieces_differing": 12}),
        problem(f"{ON}: 1 byte in the whole buffer and 12 bytes in small pieces came back corrupted."),
    ),
    ("smoke.corrupted-copy", ill("transfer", outcome="hung", notes={"differing": 1}), [("skipped", "")]),
    (
        "smoke.corrupted-copy",
        ill("transfer", outcome="failed", notes={"differing": 2}),
        problem(f"{ON}: 2 bytes in the whole buffer came back corrupted."),
    ),
    ("smoke.corrupted-memory", H100, WELL),
    (
        "smoke.corrupted-memory",
        ill("bandwidth", notes={"wrong": 2}),
        problem(f"{ON}: 2 elements of long vectors differ from what was written."),
    ),
    ("smoke.corrupted-memory", ill("bandwidth", notes={"wrong": "many"}), WELL),
    ("smoke.wrong-order", H100, WELL),
    (
        "smoke.wrong-order",
        ill("overlap", notes={"wrong": 1}),
        problem(f"{ON} computed 1 element from other data than was copied."),
    ),
    ("smoke.wrong-order", ill("overlap", outcome="unsupported"), [("skipped", "")]),
    ("smoke.corrupted-peer", m.between(), [("pass", "")]),
    (
        "smoke.corrupted-peer",
        m.between(name="peer 0-3", notes={"differing": 4096}),
        problem("PyTorch on GPUs 0-7: 4096 bytes from GPU 0 to 3 arrived corrupted."),
    ),
    ("smoke.corrupted-peer", H100, [("skipped", "")]),
    ("smoke.wrong-sum", m.between(), [("pass", "")]),
    (
        "smoke.wrong-sum",
        m.between(name="allreduce", notes={"wrong": 8}),
        problem("PyTorch on GPUs 0-7 computes a wrong all-reduce: 8 elements over 8 ranks with nccl."),
    ),
    ("smoke.wrong-sum", m.between(name="allreduce", outcome="unsupported"), [("skipped", "")]),
]


@pytest.mark.parametrize(("name", "facts", "verdicts"), ROWS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(ROWS)])
def test_numbers(name: str, facts: Facts, verdicts: list[tuple[str, str]]) -> None:
    assert ask(CHECKS[name], facts) == verdicts


@pytest.mark.parametrize(
    ("name", "facts", "severity"),
    [
        ("smoke.not-reproducible", ill("matmul bf16", notes={"not_repeated": 1}), "fail"),
        ("smoke.not-reproducible", ill("matmul bf16", MI300X, notes={"not_repeated": 1}), "warn"),
        ("smoke.not-reproducible", m.of_run(ill("matmul bf16", notes={"not_repeated": 1}), backend="jax"), "warn"),
        ("smoke.wrong-training", tf32_step(), "warn"),
        ("smoke.wrong-training", tf32_step(T4), "fail"),
        ("smoke.wrong-training", step({"gradient error": 5e-4}), "warn"),
        ("smoke.wrong-training", tf32_step(descent=0.0), "fail"),
    ],
)
def test_how_bad_it_is(name: str, facts: Facts, severity: str) -> None:
    (verdict,) = run(CHECKS[name], facts)
    assert verdict.severity.value == severity


@pytest.mark.parametrize(
    "name", ["smoke.wrong-result", "smoke.corrupted-copy", "smoke.wrong-training", "smoke.corrupted-memory"]
)
def test_numbers_are_judged_on_a_busy_gpu_too(name: str) -> None:
    facts = m.of_run(H100, others=3, utilization=99)
    facts = ill("transfer", step({"gradient error": 0.5}, product("bf16", 0.5, facts)), notes={"differing": 1})
    facts = ill("bandwidth", facts, notes={"wrong": 1})
    (verdict,) = run(CHECKS[name], facts)
    assert verdict.outcome.value == "problem"


def test_a_variable_is_unset_where_it_is_the_reason() -> None:
    facts = having(product("fp32", 2.9e-4), host__environment={"NVIDIA_TF32_OVERRIDE": "1"})
    (verdict,) = run(CHECKS["smoke.tf32-in-force"], facts)
    assert [fix.commands for fix in verdict.fixes] == [("unset NVIDIA_TF32_OVERRIDE",)]
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("NVIDIA_TF32_OVERRIDE=1",)
    (verdict,) = run(CHECKS["smoke.tf32-in-force"], product("fp32", 2.9e-4))
    assert "allow_tf32 = False" in verdict.fixes[0].commands[0]
    facts = having(product("tf32", 3e-7), host__environment={"NVIDIA_TF32_OVERRIDE": "0"})
    (verdict,) = run(CHECKS["smoke.tf32-not-used"], facts)
    assert verdict.fixes[0].commands == ("unset NVIDIA_TF32_OVERRIDE",)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (product("bf16", 0.5), "nvidia-smi -q -d ECC,ROW_REMAPPER -i 0"),
        (product("bf16", 0.5, MI300X), "amd-smi metric --ecc"),
        (product("fp32", 0.5, CPU), "mce|edac"),
        (product("bf16", 0.5), "sudo dcgmi diag -r 3 -i 0"),
    ],
)
def test_wrong_numbers_lead_to_the_hardware_of_the_vendor(facts: Facts, words: str) -> None:
    (verdict,) = run(CHECKS["smoke.wrong-result"], facts)
    assert words in " ".join(command for fix in verdict.fixes for command in fix.commands)
