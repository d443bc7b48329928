"""What a run of smoke tests tells while it goes on."""

import msgspec

from gpudoctor.facts import SmokeRun, SmokeTest


class SmokeStage(msgspec.Struct, frozen=True):
    """A stage begins: `job` of `jobs`, and what it does."""

    title: str  # "PyTorch on GPU 0"
    stage: str  # import, start, or a test's name
    variant: str
    job: int
    jobs: int


class SmokeProgress(msgspec.Struct, frozen=True):
    """The stage goes on: how much of it is done, 0 to 1."""

    title: str
    done: float


class SmokeResult(msgspec.Struct, frozen=True):
    """A test has ended; `run` is what the job has measured so far, this test its last."""

    title: str
    test: SmokeTest
    run: SmokeRun


class SmokeEnded(msgspec.Struct, frozen=True):
    """A job has ended, with everything that it measured."""

    title: str
    run: SmokeRun


SmokeEvent = SmokeStage | SmokeProgress | SmokeResult | SmokeEnded
