"""The line that says what goes on, and what becomes of it when its terminal is lost."""

import errno
import io
from contextlib import redirect_stderr

import pytest

from gpudoctor.cli.status_line import StatusLine


class Screen(io.StringIO):
    """A terminal that may be lost."""

    lost = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.lost:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")


def test_it_is_harmless_fits_and_goes_away() -> None:
    with redirect_stderr(Screen()) as screen:
        line = StatusLine()
        line.tell("one\x1b[2J\ntwo " + 60 * "x")
        shown = screen.getvalue()
        line.end()
        line.end()
    assert shown.startswith("\r\x1b[Kone")
    assert "\x1b" not in shown.removeprefix("\r\x1b[K")
    assert len(shown.removeprefix("\r\x1b[K")) == 39
    assert screen.getvalue() == shown + "\r\x1b[K"


def test_where_nothing_was_told_nothing_is_written() -> None:
    with redirect_stderr(Screen()) as screen:
        line = StatusLine()
        line.end()
        assert line.shown
    assert screen.getvalue() == ""


def test_what_goes_on_outlives_the_terminal() -> None:
    with redirect_stderr(Screen()) as screen:
        line = StatusLine()
        screen.lost = True
        line.tell("one")
        assert not line.shown
        screen.lost = False
        line.tell("two")
        line.end()
    assert screen.getvalue() == ""


@pytest.mark.parametrize("term", ["dumb", None])
def test_who_cannot_see_it_gets_nothing(monkeypatch: pytest.MonkeyPatch, term: str | None) -> None:
    if term is not None:
        monkeypatch.setenv("TERM", term)
    with redirect_stderr(Screen() if term else io.StringIO()) as stream:
        line = StatusLine()
        line.tell("one")
        assert not line.shown
    assert stream.getvalue() == ""
