"""What srun says, and what it means."""

import pytest

from gpudoctor.fleet.runner.engines.slurm_messages import verdict, waits

QUEUED = "srun: job 4 queued and waiting for resources"
# What srun 22.05 wrote to standard error and ended with, whether hello had come, and what became of the node.
CASES = [
    ("srun: error: Node failure on node3", 0, True, "unreachable", "Slurm reports: Node failure on node3."),
    ("slurmstepd: error: *** STEP 1.0 ON node3 CANCELLED AT 2026-11-22T02:25:17 DUE TO NODE FAILURE, SEE "
     "SLURMCTLD LOG FOR DETAILS ***", 0, False, "unreachable", "FOR DETAILS."),
    ("srun: error: Timed out waiting for job step to complete", 0, True, "unreachable", "step to complete."),
    ("slurmstepd-node4: error: *** STEP 1.0 ON node4 CANCELLED AT 2026-11-22T02:25:17 DUE TO TIME LIMIT ***", 0, True,
     "timed out", "Slurm reports: STEP 1.0 ON node4 CANCELLED AT 2026-11-22T02:25:17 DUE TO TIME LIMIT."),
    ("srun: error: Unable to allocate resources: Requested nodes are busy", 1, False, "not asked", "nodes are busy."),
    ("srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)", 1, False,
     "not asked", "(connect failure)."),
    ("srun: unrecognized option '--foo'\nTry \"srun --help\" for more information", 255, False, "not asked", "foo'."),
    ("srun: error: Task launch for StepId=19.0 failed on node node3: Communication connection failure\nsrun: error: "
     "Application launch failed: Communication connection failure\nsrun: Job step aborted", 233, False, "unreachable",
     "Slurm reports: Task launch for StepId=19.0 failed on node node3: Communication connection failure."),
    ("srun: error: invalid partition specified: nopart\nsrun: error: Unable to allocate resources: Invalid partition "
     "name specified", 1, False, "refused", "Unable to allocate resources: Invalid partition name specified."),
    ("srun: error: Unable to allocate resources: User's group not permitted to use this partition", 1, False, "refused",
     "this partition."),
    ("srun: error: node4: task 0: Exited with exit code 3", 3, True, "failed",
     "The command failed there with exit code 3."),
    ("on stderr.\nsrun: error: node4: task 0: Exited with exit code 3", 3, False, "failed", "exit code 3 (on stderr)."),
    ("srun: error: node4: task 0: Segmentation fault", 139, True, "failed",
     "was terminated there: Segmentation fault."),
    ("srun: error: node4: task 0: Exited with exit code 2\nslurmstepd-node4: error: execve(): /opt/gpudoctor: No such "
     "file or directory", 2, False, "failed", "start there (/opt/gpudoctor: No such file or directory): install it"),
    ("/usr/bin/python3: No module named gpudoctor\nsrun: error: node4: task 0: Exited with exit code 1", 1, False,
     "failed", "does not start there (/usr/bin/python3: No module named gpudoctor): install it there"),
    ("", 0, True, "failed", "srun succeeded, but no report arrived."),
    (QUEUED, 1, False, "not asked", "srun ended with 1 without output."),
    ("srun: error: something new", 7, True, "failed", "srun ended with 7 (something new)."),
    ("", None, True, "failed", "srun ended by a signal without output."),
]  # fmt: skip


@pytest.mark.parametrize(("said", "code", "began", "state", "why"), CASES)
def test_what_srun_says_when_it_ends(said: str, code: int | None, began: bool, state: str, why: str) -> None:
    found, sentence = verdict(code, said.splitlines(), began)
    assert found == state
    assert why in sentence
    assert sentence.endswith(".")


def test_what_the_command_says_is_not_taken_for_slurms_words() -> None:
    words = ["Permission denied: Requested nodes are busy", "Node failure on node3", "x: task 0: Exited"]
    words.append("srun: error: node3: task 0: Exited with exit code 1")
    assert verdict(1, words, began=False)[0] == "failed"


def test_what_kept_a_node_from_starting_does_not_count_once_it_has() -> None:
    words = ["srun: error: Unable to create step for job 5: Job credential expired"]
    assert verdict(1, words, began=False)[0] == "unreachable"
    assert verdict(1, words, began=True)[0] == "failed"


@pytest.mark.parametrize(
    ("said", "reported"),
    [
        ("srun: Required node not available (down, drained or reserved)", 1),
        ("srun: Partition in DOWN state", 1),
        ("the limit is not available", 0),
    ],
)
def test_why_a_job_waits(said: str, reported: int) -> None:
    assert waits([QUEUED, said]) == (f" ({said.removeprefix('srun: ')})" if reported else "")
