"""A value that is worked out once, by the thread that asks first, while the others wait for it."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """What one step finds out and others need.

    Args:
        make: finds it out.
        otherwise: what the others get where that fails.
    """

    def __init__(self, make: Callable[[], T], otherwise: T) -> None:
        self._make, self._value = make, otherwise
        self._lock, self._asked = Lock(), False
        self._error: Exception | None = None

    def make(self) -> T:
        """The value: the function of the step that is there to find it out.

        Raises:
            Exception: what `make` has raised.
        """
        value = self.get()
        if self._error:
            raise self._error
        return value

    def get(self) -> T:
        """The value, or the other one where it could not be found out."""
        with self._lock:
            if not self._asked:
                self._asked = True
                try:
                    self._value = self._make()
                except Exception as error:
                    self._error = error
            return self._value
