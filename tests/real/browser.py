"""A real browser without a window: Chromium, driven through chromedriver's HTTP interface (W3C WebDriver)."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="no chromium and chromedriver to open a page with"),
]
# Keeps what the page gets and sends through its socket: the terminal is drawn on a canvas, which holds no text.
LISTEN = """
window.told = ''; window.said = [];
const Plain = WebSocket, decoder = new TextDecoder();
window.WebSocket = class extends Plain {
    constructor(...words) {
        super(...words);
        this.addEventListener('message', async event => {
            const data = event.data;
            const bytes = data.arrayBuffer ? await data.arrayBuffer() : data;
            window.told += typeof data == 'string' ? data : decoder.decode(bytes);
        });
    }
    send(data) { window.said.push(data); super.send(data); }
};
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def until(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    """Wait for something.

    Raises:
        AssertionError: it did not come.
    """
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.05)


class Page:
    """One window of the browser."""

    def __init__(self, driver: str, session: str) -> None:
        self._at = f"{driver}/session/{session}"
        self._listens = False

    def call(self, path: str, method: str = "POST", **words: Any) -> Any:
        """One of WebDriver's commands."""
        return ask(f"{self._at}/{path}", words if method == "POST" else None, method)

    def open(self, url: str) -> None:
        """Go somewhere, and listen to what the page hears."""
        if not self._listens:
            self.call("goog/cdp/execute", cmd="Page.addScriptToEvaluateOnNewDocument", params={"source": LISTEN})
            self._listens = True
        self.call("url", url=url)

    def clear(self) -> None:
        """Leave the page, without its cookies and what was noted of it."""
        self.call("cookie", method="DELETE")
        self.call("url", url="about:blank")
        for name in ("browser", "performance"):
            self.call("se/log", type=name)

    def run(self, script: str) -> Any:
        """The value of some JavaScript."""
        return self.call("execute/sync", script=script, args=[])

    @property
    def reported(self) -> str:
        """Everything that the application has written."""
        return str(self.run("return window.told"))

    def shows(self, text: str) -> None:
        """Wait until the application has written a text."""
        until(lambda: text in self.reported, text)

    @property
    def asked(self) -> list[str]:
        """The addresses that it has asked for since the last time, sockets included."""
        found = []
        for entry in self.call("se/log", type="performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                found.append(str(event["params"]["request"]["url"]))
            elif event["method"] == "Network.webSocketCreated":
                found.append(str(event["params"]["url"]))
        return found

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("actions", actions=[{"type": "key", "id": "keyboard", "actions": steps}])

    def click(self, x: float, y: float) -> None:
        """Press the mouse's button at a place of the page, in pixels."""
        steps = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pause", "duration": 60},
            {"type": "pointerUp", "button": 0},
        ]
        self.call("actions", actions=[{"type": "pointer", "id": "mouse", "actions": steps}])

    def picture(self, path: Path) -> bytes:
        """Take a picture of the window, and keep it."""
        with urllib.request.urlopen(f"{self._at}/screenshot", timeout=60) as answer:
            path.write_bytes(base64.b64decode(json.load(answer)["value"]))
        return path.read_bytes()


def ask(url: str, words: dict[str, Any] | None = None, method: str = "POST") -> Any:
    """The answer of a server that speaks JSON."""
    data = None if words is None else json.dumps(words).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]


@contextmanager
def browser(folder: Path, width: int = 1100, height: int = 700, more: Sequence[str] = ()) -> Iterator[Page]:
    """A browser with one page, ended in the end; `more`: options of Chromium."""
    port = free_port()
    at = f"http://127.0.0.1:{port}"
    with (folder / "chromedriver.log").open("wb") as log:
        driver = subprocess.Popen([str(DRIVER), f"--port={port}"], stdout=log, stderr=log)
    try:
        until(lambda: _ready(at), "chromedriver")
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder}/profile",
        ]
        wanted = {"binary": BROWSER, "args": [*options, *more, f"--window-size={width},{height}"]}
        # What a page complains of, and what it asks for: call("se/log", type="browser" or "performance").
        logs = {"browser": "ALL", "performance": "ALL"}
        always = {"goog:chromeOptions": wanted, "goog:loggingPrefs": logs}
        made = ask(f"{at}/session", {"capabilities": {"alwaysMatch": always}})
        yield Page(at, made["sessionId"])
        ask(f"{at}/session/{made['sessionId']}", method="DELETE")
    finally:
        driver.terminate()
        driver.wait(20)


def _ready(at: str) -> bool:
    try:
        return bool(ask(f"{at}/status", method="GET")["ready"])
    except OSError:
        return False
