"""A log joined to a machine: the finding that explains its root comes first, and what was ruled out is told."""

import msgspec
import pytest

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions, Done, Judged, examine
from gpudoctor.report.build import build
from gpudoctor.report.model import Report, SymptomEntry
from gpudoctor.symptoms import explained, scan
from tests.builders import change, framework, live, nvidia_host, with_framework
from tests.symptoms.builders import finding
from tests.symptoms.samples import OOM, trace

NO_GPUS = trace("RuntimeError: No CUDA GPUs are available", "torch/cuda/__init__.py")
TF = "2026-02-09 09:37:32: W gpu_device.cc:2342] Cannot dlopen some GPU libraries. Please make sure\n"
WAITED = (
    "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE) ran for 600000 milliseconds\n"
)


def judged(facts: Facts, log: str) -> Report:
    """The report of all checks on some facts, joined to a log."""
    for event in examine(None, CheckOptions(), facts):
        if isinstance(event, Judged):
            verdicts = event.verdicts
        if isinstance(event, Done):
            report = event.report
    return explained(report, scan([log.encode()]), facts, verdicts)


def root(report: Report) -> SymptomEntry:
    return report.symptoms[0]


def test_the_finding_that_explains_the_root_comes_first() -> None:
    hidden = change(nvidia_host(), "host.environment", {"CUDA_VISIBLE_DEVICES": ""})
    hidden = change(change(hidden, "nvidia.cuda.code", 100), "nvidia.cuda.unmasked_code", 0)
    facts = with_framework(framework(live=live(0, available=False)), hidden)
    report = judged(facts, NO_GPUS)
    assert root(report).explained_by[0] == "visibility.cuda-hides-all"
    assert report.findings[0].check == "visibility.cuda-hides-all"
    assert "visibility.cuda-out-of-range" in root(report).ruled_out


def test_a_cpu_build_explains_by_what_follows_from_it() -> None:
    report = judged(with_framework(framework(cuda=None, variant="cpu")), "Torch not compiled with CUDA enabled")
    assert root(report).explained_by == ("pytorch.cpu-build",)


def test_where_nothing_explains_it_the_checks_that_were_well_are_named() -> None:
    report = judged(with_framework(framework()), trace("RuntimeError: CUDA error: no kernel image is available"))
    assert root(report).explained_by == ()
    assert "pytorch.arch-missing" in root(report).ruled_out
    assert "cupy.arch-missing" not in root(report).ruled_out, "there is no CuPy to be asked about"
    assert root(report).fixes


def test_what_only_packages_are_asked_for_is_not_ruled_out_for_a_program() -> None:
    report = judged(with_framework(framework()), "/bin/sh: 1: nvcc: not found")
    assert root(report).explained_by == ()
    assert "cuda.nvcc-missing" not in root(report).ruled_out


def test_what_could_not_be_looked_at_is_told() -> None:
    facts = with_framework(framework(archs=Unknown("torch says nothing")))
    report = judged(facts, "RuntimeError: CUDA error: no kernel image is available for execution on the device")
    assert "pytorch.arch-missing" in root(report).unknown
    assert "pytorch.arch-missing" not in root(report).ruled_out


def test_a_finding_explains_no_message_of_another_framework() -> None:
    report = Report(findings=(finding("tensorflow.arch-missing"), finding("pytorch.arch-missing")))
    log = scan([trace("RuntimeError: CUDA error: no kernel image is available", "torch/nn/x.py").encode()])
    assert root(explained(report, log)).explained_by == ("pytorch.arch-missing",)
    log = scan([b"RuntimeError: CUDA error: no kernel image is available"])
    assert root(explained(report, log)).explained_by == ("pytorch.arch-missing", "tensorflow.arch-missing")


def test_an_explained_error_comes_before_an_earlier_one_of_the_same_kind() -> None:
    report = Report(findings=(finding("host.disk-full", status="warn"),))
    text = "OSError: libmine.so.3: cannot open shared object file\n" + trace(
        "OSError: [Errno 28] No space left on device"
    )
    entries = explained(report, scan([text.encode()])).symptoms
    assert [(one.id, one.role) for one in entries] == [("disk-full", "root"), ("shared-object", "also")]
    entries = explained(Report(), scan([text.encode()])).symptoms
    assert [one.id for one in entries] == ["shared-object", "disk-full"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (TF + WAITED, "nccl-timeout"),
        (TF + trace("ValueError: no GPU, so no training"), "tf-dlopen"),
        (TF + trace("ValueError: no data", "tensorflow/python/x.py"), ""),
        (TF + trace("ValueError: no data", "torch/nn/x.py"), ""),
        (TF, "tf-dlopen"),
    ],
)
def test_a_warning_that_a_failure_here_explains(text: str, first: str) -> None:
    """It is the root, unless the program failed in another framework, or of something that no GPU has to do with."""
    report = explained(Report(findings=(finding("tensorflow.libraries-missing"),)), scan([text.encode()]))
    assert root(report).id == first


ASSERTED = """Traceback (most recent call last):
  File "/home/me/train.py", line 3, in <module>
    assert torch.cuda.is_available()
           ^^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError
"""


@pytest.mark.parametrize(
    ("text", "explained_by"),
    [
        (ASSERTED, ("pytorch.cpu-build",)),
        (ASSERTED.replace("torch.cuda.is_available", "ready"), ()),
        (trace("ValueError: this needs a GPU"), ("pytorch.cpu-build",)),
        (trace("ValueError: this needs a GPU", "jax/_src/x.py"), ()),
        (trace("KeyError: 'labels'", "torch/nn/x.py"), ()),
    ],
)
def test_an_exception_that_nobody_knows_and_that_has_to_do_with_the_gpu(text: str, explained_by: tuple[str]) -> None:
    report = explained(Report(findings=(finding("pytorch.cpu-build"), finding("host.odd"))), scan([text.encode()]))
    assert (root(report).id, root(report).explained_by) == ("", explained_by)


CHAIN = "\nDuring handling of the above exception, another exception occurred:\n\n"
ENDED = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        (trace("KeyError: 'a'") + "went on\n" + trace("ValueError: b"), [("ValueError: b", "root")]),
        (
            trace("KeyError: 'a'") + CHAIN + trace("ValueError: b"),
            [("KeyError: 'a'", "root"), ("ValueError: b", "follows")],
        ),
        (
            trace("KeyError: 'a'") + trace("ValueError: b") + ENDED,
            [("KeyError: 'a'", "root"), ("ValueError: b", "follows"), (ENDED.strip(), "follows")],
        ),
        (trace("KeyError: 'a'") + CHAIN + trace("RuntimeError: No HIP GPUs are available"),
         [("RuntimeError: No HIP GPUs are available", "root")]),
    ],
)  # fmt: skip
def test_of_several_exceptions_that_nobody_knows(text: str, roles: list[tuple[str, str]]) -> None:
    """The last one ended the program; it only follows where it was raised because of the first, or by another rank."""
    entries = explained(Report(), scan([text.encode()])).symptoms
    assert [(one.message, one.role) for one in entries] == roles


def test_a_warning_that_nothing_explains_comes_after_an_exception() -> None:
    entries = explained(Report(), scan([(TF + trace("KeyError: 'labels'")).encode()])).symptoms
    assert [(one.id, one.role) for one in entries] == [("", "root"), ("tf-dlopen", "warning")]


def test_the_words_of_a_message_rule_a_finding_out() -> None:
    """The program's own numbers say that nobody else held memory then, whoever holds it now."""
    report = Report(findings=(finding("health.memory-held", status="warn"),))
    own = explained(report, scan([OOM.format(own=22.5, torch=22, kept=0.1).encode()]))
    others = explained(report, scan([OOM.format(own=2.5, torch=2, kept=0.1).encode()]))
    assert root(own).explained_by == ()
    assert root(others).explained_by == ("health.memory-held",)


def test_harmless_messages_are_counted_apart() -> None:
    text = "x: E cuda_dnn.cc:1] Unable to register cuDNN factory\n" * 3 + "oneDNN custom operations are on.\n"
    entries = explained(Report(), scan([text.encode()])).symptoms
    assert [(one.id, one.role, one.times) for one in entries] == [
        ("tf-factory", "harmless", 3),
        ("tf-onednn", "harmless", 1),
    ]


def test_no_finding_comes_goes_or_changes() -> None:
    facts = change(nvidia_host(), "nvidia.kernel.loaded", None)
    plain = build(facts, [])
    report = explained(plain, scan([NO_GPUS.encode()]), facts)
    assert sorted(f.check for f in report.findings) == sorted(f.check for f in plain.findings)
    assert msgspec.structs.replace(report, symptoms=(), findings=plain.findings, log_origin=None) == plain


PADDLE = (
    "W1129 23:11:33.914847   101 dynamic_loader.cc:314] The third-party dynamic library (libcudnn.so) that Paddle "
    "depends on is not configured correctly.\n"
)


@pytest.mark.parametrize(
    ("log", "row"),
    [
        (PADDLE + trace("AssertionError: no cuDNN", "/home/user/main.py"), "paddle-library"),
        (PADDLE + trace("ValueError: no cuDNN", "/home/user/main.py"), ""),
        (trace("AssertionError: no cuDNN", "/home/user/main.py") + PADDLE, ""),
        (PADDLE + trace("AssertionError: no cuDNN", "/env/lib/python3.11/site-packages/ray/x.py"), ""),
    ],
)
def test_what_the_programs_own_assertion_found_was_told_before(log: str, row: str) -> None:
    assert root(judged(nvidia_host(), log)).id == row
