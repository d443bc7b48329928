"""Options of kernel modules that fixes set hold, whatever packages and tools set before."""

from gpudoctor.check_engine import Outcome, run
from gpudoctor.fixes.module_option import option_file
from gpudoctor.probes.nvidia import modprobe_conf
from gpudoctor.recorded_machine import RecordedMachine
from gpudoctor.tasks import Edit
from tests.checks.rows import problems


def test_the_file_is_read_after_those_of_packages() -> None:
    write, remove = option_file("nvidia-uvm", "uvm_disable_hmm=1", of="nvidia_uvm")
    files = {
        "/usr/lib/modprobe.d/nvidia-utils.conf": "options nvidia_uvm uvm_disable_hmm=0\n",
        write.path: write.text or "",
    }
    assert modprobe_conf.probe(RecordedMachine(files), "").options == {"nvidia_uvm.uvm_disable_hmm": "1"}
    assert (remove.path, remove.gone) == (write.path, True)


def test_no_fix_writes_options_that_another_file_overrides() -> None:
    verdicts = [verdict for one, facts in problems() for verdict in run(one, facts)]
    fixes = [fix for verdict in verdicts if verdict.outcome is Outcome.PROBLEM for fix in verdict.fixes]
    edits = {task for fix in fixes for task in fix.tasks if isinstance(task, Edit)}
    options = {edit.path for edit in edits if "/modprobe.d/" in edit.path and (edit.text or "").startswith("options ")}
    assert len(options) >= 5
    assert {path for path in options if not path.startswith("/etc/modprobe.d/zz-")} == set()
