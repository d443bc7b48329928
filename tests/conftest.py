"""For all tests: what is unknown may be in no sentence, and programs get the signals that a terminal's would."""

import signal
from typing import NoReturn

from gpudoctor.maybe import Unknown


def _refuse(unknown: Unknown, *_: object) -> NoReturn:
    raise AssertionError(f"a sentence prints what is unknown: {unknown!r}")


Unknown.__str__ = _refuse  # type: ignore[method-assign]
Unknown.__format__ = _refuse  # type: ignore[assignment, method-assign]

# Behind nohup, or in the background of a script, a shell ignores these for us, and so for all that tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
