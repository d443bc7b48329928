"""`gpudoctor serve` in a real browser: driven by keys and clicks, asking nobody else, told how it ends."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.real.browser import Page, browser, needs_browser, until
from tests.real.served import Served, answer, serving

pytest.importorskip("textual_serve", reason="the extra web is not installed")
pytestmark = needs_browser

SCREEN = "document.querySelector('.xterm-screen')"
ENTER = "\ue007"
# A browser that finds no other machine, as on a node without a way out.
ALONE = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The demo of a mismatch, served."""
    with serving(tmp_path, "--demo", "mismatch") as made:
        yield made


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A window for one test after the other: to start a browser takes longer than most of them."""
    with browser(tmp_path_factory.mktemp("browser"), more=ALONE) as one:
        yield one


@pytest.fixture
def page(served: Served, window: Page) -> Iterator[Page]:
    """The page, drawn."""
    window.open(served.url)
    window.shows("sudo reboot")
    yield window
    window.clear()


def test_it_asks_nobody_else_and_keeps_no_token(served: Served, page: Page) -> None:
    page.press("2")
    page.shows("On the PCI bus:")  # keys work before any click
    assert page.run("return document.title") == "gpudoctor: demo: mismatch"
    assert page.run("return location.href") == f"{served.base}/"
    asked = page.asked
    assert {f"{served.base}/static/fonts/RobotoMono-VariableFont_wght.ttf", served.url} <= set(asked)
    assert any(one.startswith(f"ws://127.0.0.1:{served.port}/ws") for one in asked)
    others = [urlsplit(one) for one in asked if not one.startswith(("data:", "chrome:"))]  # those stay in the browser
    assert {one.netloc for one in others} == {f"127.0.0.1:{served.port}"}
    assert [one["message"] for one in page.call("se/log", type="browser") if one["level"] == "SEVERE"] == []
    assert page.run("return document.fonts.check('16px \"Roboto Mono\"')")


def test_a_file_goes_to_the_browser_and_not_to_the_disk(served: Served, page: Page, tmp_path: Path) -> None:
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    where = {"behavior": "allow", "downloadPath": str(downloads)}
    page.call("goog/cdp/execute", cmd="Browser.setDownloadBehavior", params=where)
    page.press("w")
    page.shows("Save report")
    page.press(ENTER)
    report = downloads / "gpudoctor-report.json"
    until(report.exists, "the download")
    assert json.loads(report.read_text())["status"] == "fail"
    page.shows("Sent to the browser")
    page.press("c")
    page.shows("Sent to the browser's clipboard")
    assert not (tmp_path / ".local").exists()
    assert list(tmp_path.glob("*.json")) == []
    assert len(page.call("window/handles", method="GET")) == 1  # no empty window is left behind


def test_another_client_is_refused_while_somebody_looks_on(served: Served, page: Page) -> None:
    assert answer(served.base).status == 403
    assert answer(f"{served.base}/ws", Connection="Upgrade", Upgrade="websocket").status == 403
    page.call("cookie", method="DELETE")
    page.call("url", url=served.base)
    assert page.run("return document.body.innerText").startswith("Open the address that")
    until(lambda: not served.visitors(), "the end of the visit")


def test_it_is_drawn_and_a_click_is_answered(page: Page, tmp_path: Path) -> None:
    before = page.picture(tmp_path / "before.png")
    assert before.startswith(b"\x89PNG")
    assert len(set(before)) > 200  # no empty page
    assert "On the PCI bus:" not in page.reported
    _click_first_row(page, "2 GPUs")
    page.shows("On the PCI bus:")
    until(lambda: page.picture(tmp_path / "after.png") != before, "another picture")


def test_what_is_left_beside_the_cells_has_the_application_s_colour(page: Page) -> None:
    def behind() -> str:
        return str(page.run("return getComputedStyle(document.body).backgroundColor"))

    until(lambda: behind() == "rgb(18, 18, 18)", "the dark background")
    page.press("t")
    until(lambda: behind() == "rgb(228, 228, 228)", "the light background")


def test_each_visitor_has_a_process_that_ends_with_the_page(served: Served, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.open(served.url)
        page.shows("Diagnosis")
        first = served.visitors()
        assert len(first) == 1
        page.call("url", url="about:blank")
        until(lambda: not served.visitors(), "the end of the visit")
        page.open(served.base)  # the cookie is enough now
        page.shows("Diagnosis")
        until(lambda: len(served.visitors()) == 1, "another process")
        assert served.visitors() != first
    until(lambda: not served.visitors(), "the end with the browser")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_visitors_process_ends_with_the_server(served: Served, page: Page, name: str) -> None:
    assert len(served.visitors()) == 1
    os.kill(served.process.pid, getattr(signal, name))
    served.process.wait(20)
    until(lambda: not served.visitors(), "the end with the server", 10)


def test_who_lost_the_application_gets_it_again(served: Served, page: Page) -> None:
    os.kill(served.visitors()[0], signal.SIGKILL)
    until(lambda: "gpudoctor ended" in _dialog(page), "a word")
    page.press(ENTER)
    until(lambda: not _dialog(page), "another page")
    page.shows("sudo reboot")
    page.press("q")
    until(lambda: "gpudoctor was closed" in _dialog(page), "another word")


def test_who_lost_the_server_is_told_what_to_do(served: Served, page: Page, tmp_path: Path) -> None:
    served.process.kill()
    until(lambda: "The connection is lost" in _dialog(page), "a word")
    page.press(ENTER)
    until(lambda: "No answer. Is `gpudoctor serve` running there?" in _dialog(page), "another word")
    served.process.wait(20)
    with serving(tmp_path, "--demo", "mismatch", port=served.port):
        page.press(ENTER)
        until(lambda: "Open the address that `gpudoctor serve` printed" in _dialog(page), "what to do")


def _dialog(page: Page) -> str:
    """What the dialog says; empty: it is closed."""
    return str(page.run("const over = document.getElementById('over'); return over?.open ? over.innerText : ''"))


def _click_first_row(page: Page, text: str) -> None:
    """Click on a word of the first row, which names the places."""
    sizes = [json.loads(said) for said in page.run("return window.said") if '"resize"' in said]
    size: dict[str, Any] = sizes[-1][1] if sizes else {}
    columns, rows = size["width"], size["height"]
    at = _column(page.reported, text)
    x, y, width, height = page.run(f"const r = {SCREEN}.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]")
    page.click(x + (at + len(text) / 2) * width / columns, y + 0.5 * height / rows)


def _column(reported: str, text: str) -> int:
    """The column in which a text of the first row begins: the row is written from its beginning."""
    plain = re.sub(r"\x1b\[[0-9;?]*m", "", reported)
    row = max((part for part in re.split(r"\x1b\[[0-9;?<=>$]*[A-Za-z]|\n", plain) if text in part), key=len)
    return row.index(text)
