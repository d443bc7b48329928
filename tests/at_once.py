"""One test of many rows: where a row takes a millisecond, a test of its own takes five times that around it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


def at_once(
    rows: Iterable[Row], name: Callable[[Row], str] = str
) -> Callable[[Callable[[Row], None]], Callable[[], None]]:
    """Hold a test for every row, and name all rows for which it does not hold.

    Args:
        rows: at least one.
        name: what a row is called in a failure.
    """

    def decorate(test: Callable[[Row], None]) -> Callable[[], None]:
        def run() -> None:
            every, wrong = list(rows), {}
            assert every
            for row in every:
                try:
                    test(row)
                except Exception as error:
                    wrong[name(row)] = f"{type(error).__name__}: {error}"
            assert not wrong, "\n\n".join(f"{row}: {error}" for row, error in wrong.items())

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate
