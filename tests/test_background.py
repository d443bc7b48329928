"""A child that is waited for beside what its caller does meanwhile."""

import threading

import pytest

from gpudoctor.child import Background
from gpudoctor.children import process


def test_who_waits_for_the_background_lets_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    going, went = threading.Event(), list[str]()

    def others() -> None:
        went.append("others")
        going.set()

    monkeypatch.setattr(process.WAITING, "others", others, raising=False)
    waits = Background(lambda: going.wait(10))
    assert waits.result() is True
    assert waits.result() is True
    assert went == ["others"]


def test_what_fails_in_the_background_is_raised_by_who_asks() -> None:
    def fails() -> None:
        raise LookupError("nothing there")

    background = Background(fails)
    with pytest.raises(LookupError, match="nothing there"):
        background.result()


def test_without_another_thread_the_caller_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert Background(lambda: 1).result() == 1
