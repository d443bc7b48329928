"""`gpudoctor` itself with a worker that has one fault, which the variable PLANTED names (peers/faulty_worker.py).

    PLANTED=bit python planted.py smoke matmul --json ...

The deadline of a step that hangs is short here, and on standard error stands how long after it the worker was gone.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from doctor import HERE, OVER

from gpudoctor.__main__ import main
from gpudoctor.smoketests import job, run

HANGS = ("stopped", "kernel")
SLOW, DEADLINE = "mnist", 5.0  # the test that hangs, and the seconds that it may take here


def planted(machine: Any, one: Any, digits: Any, tell: Any, *_: str) -> Any:
    """`gpudoctor.smoketests.job.run_job` with the ill worker instead of the one that is given."""
    begun = time.monotonic()

    def hear(what: str, reported: Any) -> None:
        nonlocal begun
        if what == "stage" and reported.stage == SLOW:
            begun = time.monotonic()
        tell(what, reported)

    ran = _run_job(machine, one, digits, hear, str(HERE / "peers" / "faulty_worker.py"))
    if any(test.outcome == "hung" for test in ran.run.tests):
        sys.stderr.write(f"{OVER}{time.monotonic() - begun - DEADLINE:.2f}\n")
    return ran


if __name__ == "__main__":
    _run_job, _deadline = job.run_job, job.deadline
    run.run_job = planted
    if os.environ.get("PLANTED") in HANGS:
        job.deadline = lambda stage, stress=0.0: DEADLINE if stage == SLOW else _deadline(stage, stress)
    main()
