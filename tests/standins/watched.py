"""`gpudoctor run` on the clinic's workstation, with a watch that begins at once and needs few samples.

Started as `python watched.py ARGUMENTS` it is `gpudoctor ARGUMENTS` there; the libraries of the stand-in for the driver
are found as in tests/clinic/host.py. The driver lists the program itself with STANDIN_HOLDER=program, and no other
program but one with STANDIN_HOLDER=other. The file that STANDIN_ENOUGH names appears when enough was seen.
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent.parent)

import gpudoctor.machine
from gpudoctor.cli.run_program import figures, verdict, watch
from gpudoctor.sampling.lines import SampleLine
from tests.clinic.host import Workstation

SAMPLES = 2


class Watched(Workstation):
    """The workstation, in a program's environment."""

    def __init__(self, root: str = "/", env: dict[str, str] | None = None, seconds: float = 300.0) -> None:
        super().__init__(root, seconds)
        self.env = dict(os.environ if env is None else env)


class Counting(figures.Collector):
    """Says when there are enough samples."""

    def take(self, line: SampleLine, vendor: str) -> None:
        super().take(line, vendor)
        seen = self.figures(0.0)
        looks = max((one.looks for one in seen.processes), default=0)
        seconds = sum(
            one.held_seconds if os.environ["STANDIN_HOLDER"] == "program" else one.seconds for one in seen.gpus
        )
        if looks > SAMPLES and seconds > SAMPLES:
            Path(os.environ["STANDIN_ENOUGH"]).touch()


class Beginning(watch.ProgramWatch):
    """Has the driver list the program."""

    def start(self, pid: int) -> None:
        os.environ["STANDIN_PID"] = str(pid if os.environ["STANDIN_HOLDER"] == "program" else 1)
        super().start(pid)


if __name__ == "__main__":
    from gpudoctor.__main__ import main

    gpudoctor.machine.Machine = Watched  # type: ignore[assignment,misc]
    figures.Collector = Counting  # type: ignore[misc]
    watch.ProgramWatch = Beginning  # type: ignore[misc]
    watch.DELAY, watch.in_first_namespace = 0.0, lambda: "STANDIN_HIDDEN" not in os.environ
    verdict.SHORT, verdict.LOOKS, verdict.ENOUGH, verdict.COMPUTES = 0.0, SAMPLES, SAMPLES, 0.0
    main()
