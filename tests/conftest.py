"""For all tests: what is unknown may be in no sentence, so nothing may print it."""

from typing import NoReturn

from gpudoctor.maybe import Unknown


def _refuse(unknown: Unknown, *_: object) -> NoReturn:
    raise AssertionError(f"a sentence prints what is unknown: {unknown!r}")


Unknown.__str__ = _refuse  # type: ignore[method-assign]
Unknown.__format__ = _refuse  # type: ignore[assignment, method-assign]
