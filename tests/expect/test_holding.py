"""What holds, what does not, and what nobody knows: never taken for a pass."""

import pytest

from gpudoctor.check_engine import Outcome, Severity, run
from gpudoctor.expect.loader import loads
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, live, nvidia_host, plain_host, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.expect import asked, one

WHY = Unknown("NVML: Insufficient Permissions")
NODE = nv.hgx(nv.H100, 4)
TORCH = "pythons.0.frameworks.torch"
COPIES = "smoke.pytorch.transfer.h2d pinned"

HOLDS = {
    "text": (NODE, one("gpus.*.name", "is='NVIDIA H100 80GB HBM3'")),
    "one of several": (NODE, one("gpus.*.capability", "one_of=['8.0', '9.0']")),
    "a version": (NODE, one("nvidia.kernel.loaded", "version='>=570,<600'")),
    "a number": (NODE, one("gpus.*.memory", "at_least=1", "at_most=1e12", "between=[1, 1e12]")),
    "a part of a text, in any case": (NODE, one("gpus.*.name", "contains='h100'")),
    "no such part": (NODE, one("gpus.*.name", "lacks='A100'")),
    "an element of a list": (NODE, one("nvidia.kernel.modules", "contains='nvidia'", "lacks='nouveau'")),
    "a pattern": (NODE, one("gpus.*.name", "matches='NVIDIA H100*'")),
    "a count": (NODE, one("gpus", "count=8")),
    "a count at least": (NODE, one("gpus", "count='>=4,<=8'")),
    "of every list": (NODE, one("gpus.*.nvlinks.*", "is=true")),
    "truth": (NODE, one("gpus.7.ecc", "is=true")),
    "there is one": (NODE, one("nvidia.kernel.loaded", "present=true")),
    "none": (plain_host(), one("gpus", "present=false")),
    "nothing lacks everything": (plain_host(), one("gpus.*.name", "lacks='A100'")),
    "no GPU": (plain_host(), one("gpus", "count=0")),
    "of a framework": (NODE, one(TORCH + ".live.count", "is=8")),
    "of a GPU by its address": (NODE, one(f'gpus."{nv.hgx(nv.H100, 4).gpus[3].address}".status', "is='ok'")),  # type: ignore[index]
    "a variable that is not set": (NODE, one("host.environment.NOT_SET", "present=false")),
    "measured": (smoke.machine(), one(COPIES, "at_least=50")),
    "measured on a device": (smoke.machine(count=2), one("smoke.pytorch.GPU 1.transfer.d2h pinned", "at_least=50")),
    "measured in a data type": (smoke.machine(), one("smoke.*.matmul bf16.rate", "at_least=500")),
    "between GPUs": (smoke.between(), one("smoke.pytorch.peer.rate", "at_least=300")),
}


@pytest.mark.parametrize(("facts", "text"), HOLDS.values(), ids=HOLDS)
def test_what_holds(facts: Facts, text: str) -> None:
    assert asked(text, facts) == [("pass", "")]


SICK = change(NODE, "gpus.3.link_width_max", 8)
WRONG = {
    "text": (
        NODE,
        one("gpus.*.name", "is='B200'"),
        'gpus.*.name: expected "B200", found "NVIDIA H100 80GB HBM3" (GPUs 0 to 7).',
    ),
    "one GPU": (
        SICK,
        one("gpus.*.link_width_max", "at_least=16"),
        "gpus.*.link_width_max: expected at least 16, found 8 (GPU 3).",
    ),
    "that GPU": (SICK, one("gpus.3.link_width_max", "is=16"), "gpus.3.link_width_max: expected 16, found 8."),
    "two operators": (
        SICK,
        one("gpus.3.link_width_max", "at_least=9", "at_most=16"),
        "expected at least 9 and at most 16,",
    ),
    "a version": (NODE, one("nvidia.kernel.loaded", "version='>=580'"), 'expected >=580, found "570.169".'),
    "bytes": (
        NODE,
        one("gpus.*.memory", "at_least=171798691840"),
        "gpus.*.memory: expected at least 160 GiB, found 80 GiB (GPUs 0 to 7).",
    ),
    "a byte too few": (
        change(NODE, "gpus.3.memory", (80 << 30) - 1),
        one("gpus.3.memory", "at_least=85899345920"),
        "gpus.3.memory: expected at least 85,899,345,920 bytes, found 85,899,345,919 bytes.",
    ),
    "watts": (
        change(NODE, "gpus.3.power_limit", 500.0),
        one("gpus.*.power_limit", "between=[600, 700]"),
        "gpus.*.power_limit: expected 600 W to 700 W, found 500 W (GPU 3).",
    ),
    "a count": (NODE, one("gpus", "count=16"), "gpus: expected 16 of them, found 8."),
    "a count at least": (plain_host(), one("gpus", "count='>=1'"), "gpus: expected >=1 of them, found 0."),
    "nothing to hold it against": (
        plain_host(),
        one("gpus.*.name", "contains='H100'"),
        'gpus.*.name: expected something with "H100", found none: gpus is empty.',
    ),
    "one that is not there": (
        nvidia_host(),
        one("gpus.1.name", "contains='a'"),
        'gpus.1.name: expected something with "a", found none: gpus.1 does not exist.',
    ),
    "no such framework": (
        change(NODE, "pythons.0.frameworks", ()),
        one(TORCH + ".version", "version='>=2'"),
        f"{TORCH}.version: expected >=2, found none: {TORCH} does not exist.",
    ),
    "not built for it": (
        with_framework(framework(cuda=None)),
        one(TORCH + ".cuda", "present=true"),
        TORCH + ".cuda: expected something, found none.",
    ),
    "a list": (NODE, one("nvidia.kernel.modules", "lacks='nvidia'"), 'expected nothing with "nvidia", found ["nvidia"'),
    "a part of a text": (NODE, one("gpus.0.name", "lacks='h100'"), "found"),
    "one of several": (NODE, one("gpus.0.capability", "one_of=['8.0']"), 'expected one of ["8.0"], found "9.0".'),
    "between": (NODE, one("gpus.0.link_width_max", "between=[1, 8]"), "expected 1 to 8, found 16."),
    "a pattern": (NODE, one("gpus.0.name", "matches='H100*'"), 'expected a match of "H100*", found "NVIDIA H100'),
    "absent": (NODE, one("gpus.0.name", "present=false"), "expected nothing, found"),
    "measured": (
        smoke.ill(smoke.machine(count=2), "transfer", at=1, figures={"h2d pinned": 12.0}),
        one(COPIES, "at_least=50"),
        COPIES + ": expected at least 50, found 12 (GPU 1).",
    ),
}


@pytest.mark.parametrize(("facts", "text", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_hold(facts: Facts, text: str, message: str) -> None:
    ((outcome, said),) = asked(text, facts)
    assert outcome == "problem"
    assert message in said


UNKNOWN = {
    "a fact": (change(NODE, "gpus.3.ecc", WHY), one("gpus.*.ecc", "is=true"), "gpus.3.ecc is unknown"),
    "a list": (change(NODE, "gpus", WHY), one("gpus", "count=8"), "gpus is unknown: NVML"),
    "presence": (change(NODE, "gpus", WHY), one("gpus", "present=true"), "NVML"),
    "absence": (change(NODE, "gpus", WHY), one("gpus", "present=false"), "NVML"),
    "lack": (change(NODE, "gpus.0.name", WHY), one("gpus.*.name", "lacks='B200'"), "NVML"),
    "below it": (change(NODE, "gpus", WHY), one("gpus.0.name", "is='a'"), "gpus is unknown: NVML"),
    "no version": (change(NODE, "amd.rocm", "git-1a2b"), one("amd.rocm", "version='>1'"), "git-1a2b"),
    "no Python": (change(NODE, "pythons", ()), one(TORCH + ".version", "version='>=2'"), "no Python was checked"),
    "another Python": (NODE, one("pythons.1.version", "version='>=3'"), "only 1 were checked"),
    "a Python that does not answer": (
        change(NODE, "pythons.0.error", "it does not start"),
        one(TORCH + ".version", "present=false"),
        "it does not start",
    ),
    "not imported": (
        with_framework(framework(live=None)),
        one(TORCH + ".live.count", "is=1"),
        "it was not imported (--quick)",
    ),
    "not measured": (NODE, one(COPIES, "at_least=1"), "no smoke test was run: add --smoke"),
    "not measured, the long way": (NODE, one("smoke.runs", "count=0"), "no smoke test was run: add --smoke"),
    "another test": (smoke.machine(), one("smoke.pytorch.peer.rate", "at_least=1"), "the smoke test peer was not run"),
    "another backend": (smoke.machine(), one("smoke.jax.mnist.rate", "at_least=1"), "mnist was not run"),
    "a test that failed": (
        smoke.ill(
            smoke.machine(), "transfer", outcome="failed", message="CUDA error 719", figures={"h2d pinned": None}
        ),
        one(COPIES, "at_least=1"),
        "CUDA error 719",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "text", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_unknown_is_no_pass(facts: Facts, text: str, message: str) -> None:
    ((outcome, said),) = asked(text, facts)
    assert outcome == "unknown"
    assert message in said
    (expected,) = loads(text, "e.toml")
    assert expected.check(facts).essential


def test_what_is_wrong_counts_before_what_is_unknown() -> None:
    facts = change(SICK, "gpus.0.link_width_max", WHY)
    ((outcome, message),) = asked(one("gpus.*.link_width_max", "at_least=16"), facts)
    assert (outcome, message) == ("problem", "gpus.*.link_width_max: expected at least 16, found 8 (GPU 3).")


def test_the_subject_is_the_line_and_the_gpu() -> None:
    (expected,) = loads("\n" + one("gpus.*.link_width_max", "at_least=16"), "e.toml")
    (verdict,) = run(expected.check(SICK), SICK)
    assert (verdict.about.label, verdict.about.gpu) == ("e.toml:2", SICK.gpus[3].address)  # type: ignore[index]
    assert verdict.check.id == "expect.gpus-link-width-max"
    assert verdict.message == "gpus.*.link_width_max: expected at least 16, found 8 (GPU 3)."
    assert verdict.check.cause == "The rule is in e.toml:2. Change it there if this machine is right."
    assert verdict.problem is not None
    assert verdict.problem.evidence == ()  # the message has it all


def test_own_sentence_severity_and_fix() -> None:
    text = one("gpus", "count=9", "message='A GPU is gone.'", "fix='Call the operators.'", "severity='warn'")
    (expected,) = loads(text, "e.toml")
    (verdict,) = run(expected.check(NODE), NODE)
    assert (verdict.message, verdict.severity) == ("A GPU is gone.", Severity.WARNING)
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("gpus: expected 9 of them, found 8.",)
    assert [(fix.message, fix.commands) for fix in verdict.fixes] == [("Call the operators.", ())]


def test_an_advice_that_is_unknown_leaves_a_report_whole() -> None:
    (expected,) = loads(one("gpus", "count=9", "severity='advice'"), "e.toml")
    assert not expected.check(change(NODE, "gpus", WHY)).essential


def test_a_fault_of_ours_is_a_check_that_is_broken() -> None:
    (expected,) = loads(one("gpus.*.name", "is='a'"), "e.toml")
    facts = change(NODE, "gpus", 5)
    (verdict,) = run(expected.check(facts), facts)
    assert verdict.outcome is Outcome.BROKEN


def test_two_frameworks_that_see_other_numbers() -> None:
    facts = with_framework(framework(live=live(1)))
    ((outcome, message),) = asked(one("pythons.*.frameworks.torch.live.count", "is=2"), facts)
    assert outcome == "problem"
    assert (
        message == "pythons.*.frameworks.torch.live.count: expected 2, found 1 (pythons.0.frameworks.torch.live.count)."
    )
