"""Tests and runs that did not end well, and backends that reached nothing."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, run
from gpudoctor.facts import Facts
from tests.builders import ask, plain_host
from tests.checks import smoke_machines as m
from tests.checks.nvidia_machines import having

CHECKS: dict[str, Check[Any]] = {one.id: one for one in catalogue.load() if one.area == "smoke"}
H100, CPU, MI300X = m.machine(), m.on_cpu(), m.machine(m.MI300X)
ON = "PyTorch on GPU 0"
WELL, SKIPPED = [("pass", "")], [("skipped", "")]
SILENT = "It did not answer for 60 s in stage matmul bf16."
TRACE = "Traceback (most recent call last):\n  ...\nRuntimeError: CUBLAS_STATUS_NOT_SUPPORTED"


def problem(message: str) -> list[tuple[str, str]]:
    return [("problem", message)]


def ended(name: str, outcome: str, message: str = "", error: str | None = None, facts: Facts = H100) -> Facts:
    """The machine with tests that ended in some way."""
    return m.ill(facts, name, outcome=outcome, message=message, error=error)


def whole(outcome: str, stage: str, message: str, error: str | None = None, facts: Facts = H100) -> Facts:
    """The machine with a run that ended before its first test."""
    return m.of_run(facts, outcome=outcome, stage=stage, message=message, error=error, tests=())


OOM, LOST = "CUDA out of memory. Tried to allocate 2.00 GiB.", "CUDA error: unspecified launch failure"
KILLED = "The kernel killed it in stage mnist, because memory was full."
ROWS: list[tuple[str, Facts, list[tuple[str, str]]]] = [
    ("smoke.hangs", H100, WELL),
    ("smoke.hangs", ended("matmul bf16", "hung", SILENT), problem(f"{ON} hung in matmul bf16: {SILENT}")),
    (
        "smoke.hangs",
        whole("hung", "import", "It did not answer."),
        problem(f"{ON} hung in stage import: It did not answer."),
    ),
    ("smoke.hangs", ended("matmul bf16", "stopped"), WELL),
    ("smoke.hangs", ended("matmul bf16", "not reached"), WELL),
    (
        "smoke.hangs",
        ended("matmul", "hung", "", facts=CPU),
        problem("NumPy on the CPU hung in matmul fp32: it did not respond."),
    ),
    ("smoke.crashes", H100, WELL),
    (
        "smoke.crashes",
        ended("mnist", "died", "SIGSEGV ended it in stage mnist.", "other"),
        problem(f"{ON} crashed in mnist: SIGSEGV ended it in stage mnist."),
    ),
    ("smoke.crashes", ended("mnist", "died", KILLED, "out-of-memory"), WELL),
    (
        "smoke.crashes",
        whole("died", "start", "SIGILL ended it.", "other"),
        problem(f"{ON} crashed in stage start: SIGILL ended it."),
    ),
    ("smoke.crashes", whole("died", "start", KILLED, "out-of-memory"), WELL),
    ("smoke.crashes", ended("mnist", "failed", "no", "other"), WELL),
    ("smoke.out-of-memory", H100, WELL),
    (
        "smoke.out-of-memory",
        ended("matmul bf16", "failed", OOM, "out-of-memory"),
        problem(f"{ON} ran out of memory in matmul bf16: {OOM}"),
    ),
    (
        "smoke.out-of-memory",
        whole("failed", "start", OOM, "out-of-memory"),
        problem(f"{ON} ran out of memory in stage start: {OOM}"),
    ),
    (
        "smoke.out-of-memory",
        ended("mnist", "died", KILLED, "out-of-memory"),
        problem(f"{ON} ran out of memory in mnist: {KILLED}"),
    ),
    ("smoke.out-of-memory", ended("mnist", "failed", "no", "other"), WELL),
    ("smoke.device-error", H100, WELL),
    (
        "smoke.device-error",
        ended("mnist", "failed", LOST, "device-error"),
        problem(f"{ON} lost the GPU in mnist: {LOST}."),
    ),
    (
        "smoke.device-error",
        whole("failed", "start", LOST, "device-error"),
        problem(f"{ON} lost the GPU in stage start: {LOST}."),
    ),
    ("smoke.device-error", ended("mnist", "failed", OOM, "out-of-memory"), WELL),
    ("smoke.fails", H100, WELL),
    (
        "smoke.fails",
        ended("matmul fp8", "failed", TRACE, "other"),
        problem(f"{ON} failed in matmul fp8: RuntimeError: CUBLAS_STATUS_NOT_SUPPORTED."),
    ),
    ("smoke.fails", ended("matmul fp8", "failed"), problem(f"{ON} failed in matmul fp8: no error message.")),
    ("smoke.fails", ended("matmul fp8", "unsupported", "fp8 needs compute capability 8.9."), WELL),
    ("smoke.fails", ended("fused", "failed", "no compiler", "other"), WELL),
    ("smoke.fails", ended("mnist", "failed", OOM, "out-of-memory"), WELL),
    (
        "smoke.fails",
        whole("failed", "start", "It told nonsense.", "other"),
        problem(f"{ON} failed in stage start: It told nonsense."),
    ),
    ("smoke.fails", whole("failed", "import", "ImportError: libcudnn.so.9", "other"), WELL),
    ("smoke.fused-fails", H100, WELL),
    (
        "smoke.fused-fails",
        ended("fused", "failed", "Traceback ...\nRuntimeError: Failed to find C compiler.", "other"),
        problem(f"{ON} cannot compile a kernel with torch.compile: RuntimeError: Failed to find C compiler."),
    ),
    ("smoke.fused-fails", ended("fused", "unsupported", "Triton is not installed."), WELL),
    ("smoke.fused-fails", ended("fused", "failed", OOM, "out-of-memory"), WELL),
    ("smoke.import-fails", H100, WELL),
    (
        "smoke.import-fails",
        whole("failed", "import", "Traceback ...\nImportError: libcudnn.so.9: cannot open shared object file", "other"),
        problem(
            "PyTorch could not be imported with /opt/env/bin/python: ImportError: libcudnn.so.9: cannot open shared "
            "object file."
        ),
    ),
    ("smoke.import-fails", whole("hung", "import", "no answer"), WELL),
    ("smoke.import-fails", whole("failed", "start", "no", "other"), WELL),
    ("smoke.no-device", H100, WELL),
    (
        "smoke.no-device",
        whole("unsupported", "start", "Found no NVIDIA driver on your system."),
        problem(f"{ON} found no GPU: Found no NVIDIA driver on your system."),
    ),
    ("smoke.no-device", whole("unsupported", "start", "no", facts=MI300X), problem(f"{ON} found no GPU: no.")),
    (
        "smoke.no-device",
        whole("unsupported", "start", "PyTorch reaches no GPU: Error 803: system: unsupported."),
        problem(f"{ON} found no GPU: Error 803: system: unsupported."),
    ),
    ("smoke.no-device", having(whole("unsupported", "start", "no"), gpus=(), pci=()), WELL),
    ("smoke.no-device", CPU, SKIPPED),
    ("smoke.hangs", plain_host(), SKIPPED),
]


@pytest.mark.parametrize(("name", "facts", "verdicts"), ROWS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(ROWS)])
def test_endings(name: str, facts: Facts, verdicts: list[tuple[str, str]]) -> None:
    assert ask(CHECKS[name], facts) == verdicts


@pytest.mark.parametrize(
    ("name", "facts", "command"),
    [
        ("smoke.hangs", ended("matmul", "hung"), "sudo nvidia-smi --gpu-reset -i 0"),
        ("smoke.hangs", ended("matmul", "hung", facts=MI300X), "sudo dmesg | tail -n 50"),
        ("smoke.hangs", ended("matmul", "hung", facts=CPU), "gpudoctor smoke matmul --device cpu --backend cpu"),
        ("smoke.out-of-memory", ended("mnist", "failed", OOM, "out-of-memory"), "nvidia-smi"),
        ("smoke.out-of-memory", ended("mnist", "failed", OOM, "out-of-memory", MI300X), "amd-smi process"),
        ("smoke.out-of-memory", ended("mnist", "died", KILLED, "out-of-memory"), "free -h"),
        (
            "smoke.fused-fails",
            ended("fused", "failed", "Python.h: No such file"),
            "sudo apt-get install gcc python3-dev",
        ),
        ("smoke.no-device", whole("unsupported", "start", "no"), "gpudoctor check"),
    ],
)
def test_what_to_type(name: str, facts: Facts, command: str) -> None:
    (verdict,) = run(CHECKS[name], facts)
    assert command in [command for fix in verdict.fixes for command in fix.commands]


def test_the_environment_is_named_where_one_backend_ran_in_several() -> None:
    facts = m.machine(m.H100, 1, ("pytorch", "pytorch"))
    facts = ended("mnist", "died", "SIGSEGV ended it.", "other", m.of_run(facts, 0, python="/other/bin/python"))
    verdicts = run(CHECKS["smoke.crashes"], facts)
    assert [v.about.label for v in verdicts] == [
        "PyTorch in /other/bin/python on GPU 0",
        "PyTorch in /opt/env/bin/python on GPU 0",
    ]
    assert verdicts[0].message == "PyTorch in /other/bin/python on GPU 0 crashed in mnist: SIGSEGV ended it."
    assert {v.about.python for v in verdicts} == {"/other/bin/python", "/opt/env/bin/python"}


def test_the_last_lines_of_the_process_are_shown() -> None:
    stderr = "\n".join(f"line {n}" for n in range(20))
    (verdict,) = run(CHECKS["smoke.crashes"], m.of_run(ended("mnist", "died", "no", "other"), stderr=stderr))
    assert verdict.problem is not None
    assert verdict.problem.evidence == tuple(f"line {n}" for n in range(14, 20))
