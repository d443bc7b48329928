"""Runs the tests of a task one after the other, tells how each went, and stops between two steps when asked to."""

from __future__ import annotations

import base64
import importlib
import os
import signal
import sys
import time
from contextlib import contextmanager

from .memory import available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .backends.base import Backend

# Devices share what they have: a quarter of the free memory, and never more than this.
MOST_MEMORY = 2 << 30  # bytes
SHARE = 0.25
SPARED = 256 << 20  # bytes that stay free for the framework's own workspaces
NO_NUMBER = 1e9  # stands for an error that is not finite: JSON has no NaN, and no check takes this for a good one


class Unsupported(Exception):
    """This backend or device cannot do what a test asks; the message is a sentence for people."""


class Hung(RuntimeError):
    """Processes of this test wait for one that does not arrive; the message is a sentence for people."""


class Stopped(Exception):
    """Somebody asked us to end."""


class DeviceLost(Exception):
    """The device's context is dead: every further call in this process fails."""


class Bench:
    """What a test works with.

    Attributes:
        backend: the device under test.
        task: what is to be done, as gpudoctor.smoketests.job wrote it.
        spent: seconds that importing the framework and taking the device took.
    """

    def __init__(self, teller: Any, backend: Backend, task: dict[str, Any]) -> None:
        self.backend, self.task, self._teller = backend, task, teller
        self.spent = 0.0
        self._kept: dict[str, Any] = {}
        self._result: dict[str, Any] = {}

    # -- what a test asks for ----------------------------------------------------------------------------

    def wants(self, dtype: str) -> bool:
        """Whether the user wants this data type; all where none was named."""
        return not self.task.get("dtypes") or dtype in self.task["dtypes"]

    def has(self, dtype: str) -> bool:
        """Whether the backend has this data type on its device."""
        try:
            with self.backend.precision(dtype):
                return True
        except Unsupported:
            return False

    def budget(self) -> int:
        """The bytes of device memory that a test may take: modestly, because others may work here."""
        free = self.backend.free()
        return max(0, min(int(SHARE * free), MOST_MEMORY, free - SPARED))

    def host_budget(self) -> int:
        """The bytes of the host's memory that a reference may take."""
        return min(int(SHARE * available()), MOST_MEMORY)

    def kept(self, name: str, make: Any) -> Any:
        """A value that several tests use, made once."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def digits(self) -> tuple[bytes, bytes]:
        """The images (each 28 x 28 grey levels) and their labels (a byte each) of the training step."""

        def decoded() -> tuple[bytes, bytes]:
            found = self.task["digits"]
            return base64.b64decode(found["images"]), base64.b64decode(found["labels"])

        pair: tuple[bytes, bytes] = self.kept("digits", decoded)
        return pair

    def pause(self) -> None:
        """Let the run be ended here: called between pieces of work that last at most a twentieth of a second.

        Raises:
            Stopped: somebody asked for it.
        """
        if _ASKED:
            raise Stopped

    # -- what a test tells -------------------------------------------------------------------------------

    def begin(self, name: str, variant: str = "") -> None:
        """Say what begins, so that a hang has a name; `test` does it, and work that prepares several tests may."""
        self._teller.tell(stage=name, variant=variant, at=time.monotonic())

    @contextmanager
    def test(self, name: str, variant: str = "") -> Iterator[None]:
        """One test: what goes wrong in it becomes its outcome.

        Raises:
            DeviceLost: the device's context is dead, so that this process can do no more.
            Stopped: somebody asked us to end.
        """
        self.begin(name, variant)
        self._result = {"name": name, "variant": variant, "figures": [], "notes": {}, "timed": []}
        begun = time.monotonic()
        try:
            yield
            self.backend.synchronize()
            self._end("done", "", None, begun)
        except Unsupported as reason:
            self._end("unsupported", str(reason), None, begun)
        except Hung as reason:
            self._end("hung", str(reason), None, begun)
        except Stopped:
            self._end("stopped", "the run was stopped", None, begun)
            raise
        except Exception as error:
            kind = self.backend.kind_of(error)
            if kind != "device-error" and not self._answers():
                kind = "device-error"
            self._end("failed", self._teller.full_text(error), kind, begun)
            if kind == "device-error":
                raise DeviceLost from error

    def _answers(self) -> bool:
        """Whether the device still works after an error: libraries' own words often hide that its context is dead."""
        try:
            self.backend.release()
            self.backend.synchronize()
        except Exception:
            return False
        return True

    def run(self, name: str, test: Callable[[Bench], None]) -> None:
        """Run a test with all its parts; what goes wrong before the first or between two fails it, not the process.

        Raises:
            DeviceLost: as `test`.
            Stopped: as `test`.
        """
        try:
            test(self)
        except (DeviceLost, Stopped):
            raise
        except Exception as error:
            with self.test(name):
                raise error

    def _end(self, outcome: str, message: str, kind: str | None, begun: float) -> None:
        now = time.monotonic()
        result = dict(self._result, outcome=outcome, message=message, error=kind, at=[begun, now], seconds=now - begun)
        self._teller.tell(result=result)

    def figure(self, name: str, value: float, unit: str, method: str = "", samples: Any = ()) -> None:
        """Tell a measured number of the test that runs; NO_NUMBER stands for one that is not finite."""
        figure = {"name": name, "value": finite(value), "unit": unit, "method": method}
        self._result["figures"].append(dict(figure, samples=[finite(sample) for sample in samples]))

    def note(self, **notes: Any) -> None:
        """Tell what else decides about the test that runs: a switch, a size, a count."""
        reported = {name: finite(v) if isinstance(v, float) else v for name, v in notes.items()}
        self._result["notes"].update(reported)

    def timed(self, begun: float, ended: float) -> None:
        """Tell from when to when (time.monotonic) the device was busy with what is measured."""
        self._result["timed"].append([begun, ended])

    def progress(self, done: float) -> None:
        """Tell how much of the test that runs is done, from 0 to 1."""
        self._teller.tell(progress=round(done, 3))


def finite(value: float) -> float:
    """A number that JSON has: the nearest float, or NO_NUMBER for NaN and the infinities."""
    number = float(value)
    return number if number - number == 0 else NO_NUMBER


_ASKED: list[int] = []


def run(teller: Any, task: dict[str, Any]) -> None:
    """Run a task and end the process, without a framework's own tidying where the device is lost."""
    signal.signal(signal.SIGTERM, lambda number, _: _ASKED.append(number))
    try:
        ended = _run(teller, task)
    except Stopped:
        ended = {"outcome": "stopped"}
    except DeviceLost:
        ended = {"outcome": "failed", "error": "device-error"}
    except Exception as error:
        ended = {"outcome": "failed", "message": teller.full_text(error), "error": "other"}
    if ended:
        teller.tell(stage="done", **ended)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _run(teller: Any, task: dict[str, Any]) -> dict[str, str] | None:
    """How the run ended; None where it could not begin, which was told, and the stage names where."""
    begun = time.monotonic()
    backend = _started(teller, task)
    if backend is None:
        return None
    bench = Bench(teller, backend, task)
    bench.spent = time.monotonic() - begun
    for name in task["tests"]:
        bench.pause()
        test = importlib.import_module(".tests." + name.replace("-", "_"), __package__)
        bench.run(name, test.run)
    backend.close()
    return {"outcome": "done"}


def _started(teller: Any, task: dict[str, Any]) -> Backend | None:
    """Import the framework and take the device; None where that fails, which is told."""
    begun = time.monotonic()
    backend: Backend | None = None
    teller.tell(stage="import", at=begun)
    try:
        module = importlib.import_module(".backends." + task["backend"], __package__)
        backend = getattr(module, task["backend"].capitalize() + "Backend")(task)
        imported = time.monotonic()
        teller.tell(stage="start", at=imported, import_seconds=imported - begun, version=backend.version)
        about = backend.start()
    except Unsupported as reason:
        teller.tell(outcome="unsupported", message=str(reason))
        return None
    except (Exception, SystemExit) as error:
        kind = backend.kind_of(error) if backend else "other"
        teller.tell(outcome="failed", message=teller.full_text(error), error=kind)
        return None
    teller.tell(start_seconds=time.monotonic() - imported, about=about)
    return backend
