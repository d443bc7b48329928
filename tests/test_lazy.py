"""A value that is worked out once, whoever asks first."""

import threading
from typing import NoReturn

import pytest

from gpudoctor.lazy import Lazy


def test_it_is_worked_out_once_for_all() -> None:
    calls: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def make() -> int:
        calls.append(1)
        begun.set()
        go_on.wait(5)
        return 7

    later, found = Lazy(make, 0), list[int]()
    threads = [threading.Thread(target=lambda: found.append(later.get())) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(5)
    assert found == []
    go_on.set()
    for thread in threads:
        thread.join(5)
    assert (found, later.make(), calls) == ([7, 7, 7], 7, [1])


def test_where_it_fails_its_step_learns_why_and_the_others_get_something_else() -> None:
    def fails() -> NoReturn:
        raise OSError(5, "Input/output error")

    later = Lazy[int | None](fails, None)
    assert later.get() is None
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            later.make()
