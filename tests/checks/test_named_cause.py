"""Where no check knows why a framework fails, its own output may name the cause: as `gpudoctor explain` would say."""

from typing import Any

import pytest

from gpudoctor.check_engine import Check, run
from gpudoctor.checks.jax.no_gpu import no_gpu as jax_no_gpu
from gpudoctor.checks.pytorch.import_crashes import import_crashes as crashes
from gpudoctor.checks.pytorch.no_gpu import no_gpu
from gpudoctor.facts import Facts
from gpudoctor.knowledge.symptoms import recognise
from tests.builders import change, framework, live
from tests.checks.environments import blind, environment, torch

SECOND = "Unable to initialize backend 'cuda': FAILED_PRECONDITION: DNN library initialization failed."
REFUSED = "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.  CuDNN library needs to have"
FABRIC = "Error 802: system not yet initialized"


def _asked(check: Check[Any], facts: Facts) -> tuple[str, list[str]]:
    found = run(check, facts)[0]
    assert found.problem is not None
    return found.problem.cause or "", [fix.message for fix in found.fixes]


def _meaning(line: str) -> str:
    row = recognise(line)
    assert row is not None
    return row.sentence


def test_the_first_line_that_is_known() -> None:
    """Libraries write first; the exception, and lines that say nothing of a cause, come of theirs."""
    seen = live(0, error=SECOND, stderr=f"I0000 plain words\n{REFUSED}\n")
    jax = framework("jax", "0.6.2", variant="cuda", cuda="12", plugin="jax-cuda12-plugin", live=seen)
    cause, fixes = _asked(jax_no_gpu, environment(jax))
    assert cause == _meaning(REFUSED)
    assert "LD_LIBRARY_PATH" in fixes[0]
    assert fixes[-1].startswith("Read the full error in a fresh process")


@pytest.mark.parametrize("error", ["RuntimeError: No CUDA GPUs are available", "RuntimeError: nobody knows this"])
def test_a_line_that_says_no_more_than_the_check(error: str) -> None:
    cause, fixes = _asked(no_gpu, environment(torch(live=blind(error=error))))
    assert cause == ""
    assert [one for one in fixes if not one.startswith("Read the full error")] == []


def test_what_a_process_wrote_before_it_died() -> None:
    died = live(0, died="SIGABRT", stage="init", stderr=f"terminate called\n{FABRIC}\n")
    cause, fixes = _asked(crashes, environment(torch(live=died)))
    assert cause == _meaning(FABRIC)
    assert len(fixes) > 1


def test_steps_of_the_host_are_not_for_a_container() -> None:
    facts = environment(torch(live=blind(error=FABRIC)))
    outside = [fix.commands for fix in run(no_gpu, facts)[0].fixes]
    inside = [fix.commands for fix in run(no_gpu, change(facts, "host.container", "docker"))[0].fixes]
    assert any("systemctl" in line for lines in outside for line in lines)
    assert not any("systemctl" in line for lines in inside for line in lines)
