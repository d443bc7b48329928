"""`gpudoctor smoke` on this machine's CPU, and what is said of a wrong choice."""

import json
from pathlib import Path

import jsonschema
import pytest

from gpudoctor.cli import smoke as command
from tests.cli import gpudoctor
from tests.report.schema import REPORT


def test_the_list_names_every_test_and_runs_none() -> None:
    ran = gpudoctor("smoke", "--list")
    assert ran.code == 0
    assert [line[2:].split()[0] for line in ran.out.splitlines()[:13]] == [
        "matmul", "mnist", "transfer", "overlap", "mixed-precision", "fused", "bandwidth", "inference", "peer",
        "allreduce", "data-parallel", "stress", "compare",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["matmult"], 'Unknown smoke test "matmult". Did you mean "matmul"?'),
        (["DDP"], 'Unknown smoke test "DDP". Did you mean "data-parallel"?'),
        (["--backend", "torch"], 'Unknown backend "torch". Did you mean "pytorch"?'),
        (["--dtype", "int4"], 'Unknown data type "int4". There are fp32, tf32, fp16, bf16, fp8.'),
        (["--dtype", "fp64"], 'Unknown data type "fp64". There are fp32, tf32, fp16, bf16, fp8.'),
        (["--device", ""], "Empty name"),
        (["--mnist", "", "--device", "cpu"], "Empty name"),
        (["--seconds", "0"], "stress takes 1 to 600 seconds, not 0."),
        (["--seconds", "long"], "--seconds takes a whole number of seconds, not long."),
        (["--mnist", "/no/such/file", "--backend", "cpu", "mnist"], "/no/such/file"),
        (["--python", "/no/such/python"], "/no/such/python"),
        (["compare", "--price", "cheap"], "--price takes dollars per hour such as 2.50, not cheap."),
        (["compare", "--price", "0"], "A price is more than 0"),
        (["matmul", "--price", "2.50"], "of use to the test compare alone"),
    ],
)
def test_a_wrong_choice_is_one_sentence_and_exit_code_2(arguments: list[str], sentence: str) -> None:
    ran = gpudoctor("smoke", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_smoke_has_no_meaning_for_a_facts_file(tmp_path: Path) -> None:
    ran = gpudoctor("check", "--smoke", "--facts", str(tmp_path / "host.json"))
    assert (ran.code, ran.out) == (2, "")
    assert "--smoke cannot be used with --facts" in ran.err


def test_smoke_runs_nothing_under_another_root(tmp_path: Path) -> None:
    ran = gpudoctor("check", "--smoke", "--root", str(tmp_path))
    assert ran.code == 2
    assert "Smoke tests cannot be used with --root" in ran.err


def test_the_cpu_is_tested_for_real_where_it_is_chosen() -> None:
    ran = gpudoctor("smoke", "transfer", "bandwidth", "--backend", "cpu", "--json")
    report = json.loads(ran.out)
    jsonschema.validate(report, REPORT)
    (entry,) = report["smoke"]
    assert (entry["backend"], entry["device"], entry["outcome"]) == ("cpu", "CPU", "done")
    assert [test["outcome"] for test in entry["tests"]] == ["done", "done"]
    assert entry["tests"][0]["figures"][0]["value"] > 0
    assert report["findings"] == []
    assert (ran.code, report["status"]) == (0, "pass")


def test_several_words_may_stand_in_one() -> None:
    assert command._words(["matmul,mnist", "transfer", "mnist"]) == ("matmul", "mnist", "transfer")


def test_without_a_gpu_nothing_is_compared() -> None:
    ran = gpudoctor("smoke", "compare", "--price", "$2.50")
    if "GPUs      none found" not in ran.out:
        pytest.skip("there is a GPU")
    assert ran.code == 3
    assert "NO GPU" in ran.out
    assert "To test the CPU" in ran.out
