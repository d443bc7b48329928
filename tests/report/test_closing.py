"""The last lines: what was proven because it was tried, and what to do next."""

import msgspec
import pytest

from gpudoctor.check_engine import MACHINE, Outcome, Verdict
from gpudoctor.expect.loader import loads
from gpudoctor.facts import Facts, Smoke, SmokeRun, SmokeTest
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions, check
from gpudoctor.report.model import FindingEntry
from gpudoctor.report.renderers.closing import PROOF, SETUP, closing
from gpudoctor.report.renderers.text import render
from tests.builders import change, framework, live, nvidia_host, plain_host, python, with_framework
from tests.checks.environments import package
from tests.expect import one
from tests.report.test_build import FAILS, WARNS

PASSED = [Verdict(FAILS, MACHINE, Outcome.PASS), Verdict(WARNS, MACHINE, Outcome.PASS)]
ENTRY = FindingEntry(check="a.b", status="advice", subject="s", title="T", message="S.", cause="C.")
CUDA = "The NVIDIA driver responds: CUDA initializes and lists 1 GPU."
AGAIN = (
    "If a program still fails, `gpudoctor run -- COMMAND` runs it and explains its error. Check its own environment: "
    "with its Python (--python PATH), as its user, in its container."
)
NEXT = "Fix the first problem, then re-run `gpudoctor check`. For details: `gpudoctor explain a.b`"
UNKNOWN = "Some facts are unknown: --verbose lists them, and what access they need."
NONE = "No problems found (2 checks)."
BARE = "No problems found with the driver and GPU (2 checks); no framework was checked."
NOTHING_AT_ALL = "No problems found (2 checks); no framework was checked."
LEFT = "No framework was checked: the environment has none. --python PATH checks another one."
QUICK = "No framework was imported (--quick): `gpudoctor check` shows which GPUs each one sees."


UNTRIED = "Not tested: bitsandbytes, flash-attn, xformers (only files were read)."


def with_packages(facts: Facts) -> Facts:
    """A machine with packages beside a framework's own, of which some compute on the GPU."""
    names = ("xformers", "flash-attn", "bitsandbytes", "numpy", "nvidia-nccl-cu12", "requests")
    return msgspec.structs.replace(facts, pythons=(python(packages=tuple(package(n, "1.0") for n in names)),))


def quick(facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, quick=True)


@pytest.mark.parametrize(
    ("facts", "status", "entries", "lines"),
    [
        (nvidia_host(), "pass", (), (CUDA, BARE, SETUP, AGAIN)),
        (nvidia_host(), "pass", (ENTRY,), (CUDA, LEFT, SETUP, AGAIN)),
        (nvidia_host(), "warn", (ENTRY,), (CUDA, LEFT, SETUP)),
        (nvidia_host(), "fail", (ENTRY,), (NEXT,)),
        (nvidia_host(), "incomplete", (), (CUDA, UNKNOWN)),
        (with_packages(nvidia_host()), "pass", (), (CUDA, BARE, UNTRIED, SETUP, AGAIN)),
        (with_packages(nvidia_host()), "warn", (ENTRY,), (CUDA, LEFT, UNTRIED, SETUP)),
        (with_packages(nvidia_host()), "fail", (ENTRY,), (NEXT,)),
        (with_packages(plain_host()), "pass", (), (NOTHING_AT_ALL, AGAIN)),
        (plain_host(), "pass", (), (NOTHING_AT_ALL, AGAIN)),
        (quick(plain_host()), "pass", (), (NOTHING_AT_ALL,)),
        (quick(with_framework(framework(live=None), plain_host())), "pass", (), (NONE, QUICK)),
        (
            with_framework(framework(), nvidia_host()),
            "pass",
            (),
            (CUDA, "PyTorch 2.7.1 was imported and sees 1 GPU.", NONE, PROOF, AGAIN),
        ),
    ],
)
def test_closing(facts: Facts, status: str, entries: tuple[FindingEntry, ...], lines: tuple[str, ...]) -> None:
    assert closing(facts, PASSED, status, entries) == lines


def test_of_recorded_facts_nobody_can_choose_another_python() -> None:
    for facts, status, entries in ((nvidia_host(), "pass", (ENTRY,)), (plain_host(), "pass", ())):
        reported = closing(facts, PASSED, status, entries, recorded=True)
        assert "--python" not in " ".join(reported)
        assert not {SETUP, PROOF} & {*reported}  # that machine is another one


def test_one_check_is_one() -> None:
    facts = with_framework(framework(), nvidia_host())
    assert "No problems found (1 check)." in closing(facts, PASSED[:1], "pass", ())


def test_what_was_chosen_claims_nothing_about_frameworks() -> None:
    for how in ({"chosen": True}, {"command": "smoke"}):
        reported = closing(nvidia_host(), PASSED, "pass", (), **how)
        assert NONE in reported
        assert not any("framework" in sentence for sentence in reported)


def test_nothing_is_called_proven_that_was_not_tried() -> None:
    for path, value in (
        ("nvidia.cuda.code", 100),
        ("nvidia.cuda.code", Unknown("hung")),
        ("nvidia.cuda.devices", ()),
        ("nvidia.cuda.devices", Unknown("hung")),
    ):
        assert CUDA not in closing(change(nvidia_host(), path, value), PASSED, "pass", ())
    for asked in (live(1, available=Unknown("x")), live(1, count=Unknown("x")), live(0), None):
        reported = closing(with_framework(framework(live=asked)), PASSED, "pass", ())
        assert not [line for line in reported if "was imported" in line]


def test_numbers_are_words_of_their_number() -> None:
    reported = closing(with_framework(framework(live=live(2)), nvidia_host(2)), PASSED, "pass", ())
    assert reported[0] == "The NVIDIA driver responds: CUDA initializes and lists 2 GPUs."
    assert reported[1] == "PyTorch 2.7.1 was imported and sees 2 GPUs."


def smoked(*runs: tuple[str, str], instead: bool = False) -> Facts:
    test = SmokeTest(name="mnist", outcome="done")
    reported = tuple(SmokeRun(backend="driver", kind=kind, label=label, tests=(test,)) for kind, label in runs)
    return msgspec.structs.replace(plain_host(), smoke=Smoke(runs=reported, instead=instead))


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([("cuda", "GPU 0")], "1 smoke test completed on GPU 0 with correct results."),
        (
            [("cuda", "GPU 0"), ("cuda", "GPU 1"), ("cuda", "GPUs 0, 1")],
            "3 smoke tests completed on GPU 0 and GPU 1 with correct results.",
        ),
        ([("cuda", "GPUs 0, 1")], "1 smoke test completed on GPUs 0, 1 with correct results."),
        (
            [("cpu", "CPU")],
            "1 smoke test completed on the CPU with correct results; that proves nothing about a GPU.",
        ),
    ],
)
def test_what_the_smoke_tests_have_shown(runs: list[tuple[str, str]], said: str) -> None:
    assert said in closing(smoked(*runs), PASSED, "pass", ())


def test_a_cpu_that_stood_in_for_a_gpu_is_not_praised() -> None:
    reported = closing(smoked(("cpu", "CPU"), instead=True), PASSED, "incomplete", ())
    assert not [line for line in reported if "ran to the end" in line]


def test_who_has_cupy_is_told_why_it_was_left_out() -> None:
    said = "CuPy was not tested: it computes only on a GPU."
    cupy = with_framework(framework("cupy"), plain_host()).pythons
    on_cpu, on_gpu = smoked(("cpu", "CPU")), smoked(("cuda", "GPU 0"))
    for facts, reported in ((on_cpu, False), (msgspec.structs.replace(on_cpu, pythons=cupy), True)):
        assert (said in closing(facts, PASSED, "pass", ())) == reported
    assert said not in closing(msgspec.structs.replace(on_gpu, pythons=cupy), PASSED, "pass", ())


def test_a_run_in_which_no_check_applied_praises_nothing() -> None:
    skipped = [Verdict(FAILS, MACHINE, Outcome.SKIPPED)]
    assert closing(plain_host(), skipped, "pass", ()) == ()


def test_the_operators_rules_are_counted_by_what_became_of_them() -> None:
    rules = (
        one("gpus", "count=1")
        + one("gpus.*.name", "contains='B200'")
        + one("smoke.pytorch.transfer.h2d pinned", "at_least=1")
    )
    report = check(None, CheckOptions(expect=loads(rules, "e.toml")), nvidia_host())
    assert "Expectations: 1 met, 1 not met, 1 unknown." in report.next
    assert "expect.smoke-pytorch-transfer-h2d-pinned (e.toml:" in render(report)  # also without --verbose
    assert not [line for line in check(None, CheckOptions(), nvidia_host()).next if "Expectations" in line]
