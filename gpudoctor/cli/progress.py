"""Progress on standard error, where that is a terminal."""

from types import TracebackType
from typing import TYPE_CHECKING

from gpudoctor.cli.status_line import StatusLine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import Event

if TYPE_CHECKING:
    from gpudoctor.smoketests.events import SmokeStage


class CheckProgress:
    """One line that names the steps still running; gone when the report is written."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._running: dict[str, str] = {}
        self._smoke = ""

    def __enter__(self) -> "CheckProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.end()

    def tell(self, event: Event) -> None:
        """Take note of an event."""
        if not self._line.shown:
            return
        from gpudoctor.smoketests.events import SmokeStage  # here, because most runs have nobody who looks

        if isinstance(event, StepStarted):
            self._running[event.key] = event.label
        elif isinstance(event, StepEnded):
            self._running.pop(event.key, None)
        elif isinstance(event, SmokeStage):
            self._smoke = _stage(event)
        looking = f"Checking {', '.join(self._running.values())} ..." if self._running else ""
        self._line.tell(looking or self._smoke)


def _stage(event: "SmokeStage") -> str:
    place = f" ({event.job} of {event.jobs})" if event.jobs > 1 else ""
    what = {"import": "importing", "start": "starting", "done": "ending"}.get(event.stage, event.stage)
    return f"{event.title}{place}: {what} {event.variant}".rstrip() + " ..."
