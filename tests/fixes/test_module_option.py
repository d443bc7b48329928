"""Options of kernel modules that fixes set hold, whatever packages and tools set before."""

from functools import cache
from typing import Any

from gpudoctor.check_engine import Check, Outcome, run
from gpudoctor.facts import Facts
from gpudoctor.fixes.module_option import option_file
from gpudoctor.probes.nvidia import modprobe_conf
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.tasks import Edit
from tests.builders import change
from tests.checks.rows import problems


def test_the_file_is_read_after_those_of_packages() -> None:
    write, remove = option_file("nvidia-uvm", "uvm_disable_hmm=1", of="nvidia_uvm")
    files = {
        "/usr/lib/modprobe.d/nvidia-utils.conf": "options nvidia_uvm uvm_disable_hmm=0\n",
        write.path: write.text or "",
    }
    assert modprobe_conf.probe(RecordedMachine(files), "").options == {"nvidia_uvm.uvm_disable_hmm": "1"}
    assert (remove.path, remove.gone) == (write.path, True)


def edits(one: Check[Any], facts: Facts) -> set[Edit]:
    fixes = [fix for verdict in run(one, facts) if verdict.outcome is Outcome.PROBLEM for fix in verdict.fixes]
    return {task for fix in fixes for task in fix.tasks if isinstance(task, Edit) and "/modprobe.d/" in task.path}


@cache
def that_write() -> list[tuple[Check[Any], Facts, set[Edit]]]:
    return [(one, facts, found) for one, facts in problems() if (found := edits(one, facts))]


def test_no_fix_writes_options_that_another_file_overrides() -> None:
    every = {edit for *_, found in that_write() for edit in found}
    options = {edit.path for edit in every if (edit.text or "").startswith("options ")}
    assert len(options) >= 5
    assert {path for path in options if not path.startswith("/etc/modprobe.d/zz-")} == set()


def test_no_fix_writes_there_on_nixos() -> None:
    """NixOS generates these files from its configuration."""
    on_nixos = ((one, change(facts, "host.distribution.id", "nixos")) for one, facts, _ in that_write())
    assert {one.id for one, facts in on_nixos if edits(one, facts)} == set()
