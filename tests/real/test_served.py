"""`gpudoctor serve` in a real browser: it is drawn, a click is answered, and each visitor's process ends with them."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.browser import Page, browser, free_port, needs_browser, until
from tests.real.tmux import coverage
from tests.standins import clean_up, left_running

pytest.importorskip("textual_serve", reason="the extra web is not installed")

SCREEN = "document.querySelector('.xterm-screen')"


class Served:
    """A server, and the processes of its visitors."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.port, self._mark = free_port(), f"MARK={folder}"
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "MARK": str(folder), **coverage()}
        argv = [sys.executable, "-m", "gpudoctor", "serve", "--port", str(self.port), *words]
        self.process = subprocess.Popen(
            argv, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.said = ""
        while "gpudoctor is on" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/"

    def visitors(self) -> list[int]:
        """The processes of those who look on."""
        return [pid for pid in left_running(self._mark) if pid != self.process.pid]

    def end(self) -> None:
        """Whatever became of it, leave nothing."""
        self.process.kill()
        self.process.communicate()
        clean_up(self.visitors())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The demo of a mismatch, served."""
    made = Served(tmp_path, "--demo", "mismatch")
    yield made
    made.end()


def _answer(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_only_its_own_page_is_answered(served: Served) -> None:
    status, page = _answer(served.url)
    assert status == 200
    assert f"ws://127.0.0.1:{served.port}/ws" in page
    assert _answer(f"http://localhost:{served.port}/")[0] == 200
    refused = (403, "gpudoctor answers only its own page.")
    assert _answer(f"{served.url}ws", Origin="http://evil.example") == refused
    assert _answer(f"{served.url}ws", Origin="null") == refused
    assert _answer(f"{served.url}ws", Origin="http://[") == refused
    assert _answer(served.url, Host=f"evil.example:{served.port}") == refused  # a name that leads here by DNS
    assert _answer(served.url, Host="[") == refused
    assert served.visitors() == []
    assert "Warning" not in served.said


def test_another_address_than_loopback_is_warned_of(tmp_path: Path) -> None:
    served = Served(tmp_path, "--demo", "mismatch", "--host", "0.0.0.0")
    try:
        everybody = f"gpudoctor: Warning: everybody who can reach 0.0.0.0 port {served.port} sees this machine's facts"
        assert served.said.startswith(f"{everybody}, can run its tests and save files as you, without a password.\n")
        status, page = _answer(served.url, Host=f"gpu-7.example:{served.port}")
        assert status == 200
        assert f"ws://gpu-7.example:{served.port}/ws" in page
        assert _answer(f"{served.url}ws", Origin="http://evil.example")[0] == 403
    finally:
        served.end()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_server(served: Served, name: str) -> None:
    served.process.send_signal(getattr(signal, name))
    assert served.process.wait(20) == 0


class TestInABrowser:
    """What needs Chromium."""

    pytestmark = needs_browser

    def test_it_is_drawn_and_a_click_is_answered(self, served: Served, tmp_path: Path) -> None:
        with browser(tmp_path) as page:
            page.open(served.url)
            page.shows("Diagnosis")
            page.shows("sudo reboot")
            before = page.picture(tmp_path / "before.png")
            assert before.startswith(b"\x89PNG")
            assert len(set(before)) > 200  # no empty page
            assert "The PCI bus shows" not in page.told
            _click_first_row(page, "2 GPUs")
            page.shows("The PCI bus shows")
            until(lambda: page.picture(tmp_path / "after.png") != before, "another picture")

    def test_each_visitor_has_a_process_that_ends_with_the_page(self, served: Served, tmp_path: Path) -> None:
        with browser(tmp_path) as page:
            page.open(served.url)
            page.shows("Diagnosis")
            first = served.visitors()
            assert len(first) == 1
            page.call("url", url="about:blank")
            until(lambda: not served.visitors(), "the end of the visit")
            page.open(served.url)
            page.shows("Diagnosis")
            until(lambda: len(served.visitors()) == 1, "another process")
            assert served.visitors() != first
        until(lambda: not served.visitors(), "the end with the browser")

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
    def test_a_visitors_process_ends_with_the_server(self, served: Served, tmp_path: Path, name: str) -> None:
        with browser(tmp_path) as page:
            page.open(served.url)
            page.shows("Diagnosis")
            assert len(served.visitors()) == 1
            os.kill(served.process.pid, getattr(signal, name))
            served.process.wait(20)
            until(lambda: not served.visitors(), "the end with the server", 10)


def _click_first_row(page: Page, text: str) -> None:
    """Click on a word of the first row, which names the places."""
    sizes = [json.loads(said) for said in page.run("return window.said") if '"resize"' in said]
    size: dict[str, Any] = sizes[-1][1] if sizes else {}
    columns, rows = size["width"], size["height"]
    at = _column(page.told, text)
    x, y, width, height = page.run(f"const r = {SCREEN}.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]")
    page.click(x + (at + len(text) / 2) * width / columns, y + 0.5 * height / rows)


def _column(told: str, text: str) -> int:
    """The column in which a text of the first row begins: the row is written from its beginning."""
    plain = re.sub(r"\x1b\[[0-9;?]*m", "", told)
    row = max((part for part in re.split(r"\x1b\[[0-9;?<=>$]*[A-Za-z]|\n", plain) if text in part), key=len)
    return row.index(text)
