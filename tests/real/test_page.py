"""The page in Chromium: nothing is asked of the network, nothing is wider than a phone, and a click opens details."""

import base64
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import check, demo
from gpudoctor.report.renderers import html
from tests.machines.registry import machines
from tests.real.browser import Page, browser, needs_browser
from tests.real.colours import contrast

pytestmark = needs_browser
NAMES = ("demo bad-link", "demo mismatch", "hgx-h100", "card-not-seated", "cpu-only-server", "worn-memory")

CUT = """return [...document.querySelectorAll('p, pre, dd, h1, h3, li')]
    .filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"""


def _pages(folder: Path) -> dict[str, str]:
    made = {one.name: one.make for one in machines()}
    found = {}
    for name in NAMES:
        facts = demo.load(name[5:]) if name.startswith("demo ") else made[name]()
        path = folder / f"{name.replace(' ', '-')}.html"
        path.write_text(html.render(check(facts=facts), facts))
        found[name] = path.as_uri()
    return found


def _as(page: Page, width: int, scheme: str = "light") -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    page.call("goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=size)
    look = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.call("goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params=look)


def _picture(page: Page) -> bytes:
    shot: dict[str, Any] = page.call("goog/cdp/execute", cmd="Page.captureScreenshot", params={})
    return base64.b64decode(shot["data"])


@pytest.mark.timeout(120)
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    pages = _pages(tmp_path)
    with browser(tmp_path) as page:
        for name, url in pages.items():
            for width in (360, 1280):
                _as(page, width)
                page.call("url", url=url)
                assert page.run("return [document.documentElement.scrollWidth > innerWidth, innerWidth]") == [
                    False,
                    width,
                ]
                assert page.run(CUT) == [], name
            assert page.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
            assert page.run("return document.scripts.length") == 0
        _fits(page, pages)
        _opens(page, pages["demo mismatch"])
        _colours(page, pages["demo mismatch"])
        _paper(page, pages["demo mismatch"])


def _fits(page: Page, pages: dict[str, str]) -> None:
    """No word of the picture runs out of its box."""
    script = """
        const out = [];
        for (const svg of document.querySelectorAll('svg.machine')) {
            const frame = svg.getBoundingClientRect();
            for (const text of svg.querySelectorAll('text')) {
                const at = text.getBoundingClientRect();
                if (at.right > frame.right + 1 || at.left < frame.left - 1) out.push(text.textContent);
            }
        }
        return out;"""
    for name, url in pages.items():
        page.call("url", url=url)
        assert page.run(script) == [], name


def _opens(page: Page, url: str) -> None:
    """Details open by a click, and by nothing but the browser's own means."""
    page.call("url", url=url)
    page.run("document.querySelector('summary').scrollIntoView({block: 'center'})")
    closed = "return [document.querySelector('details').open, document.querySelector('details a').checkVisibility()]"
    assert page.run(closed) == [False, False]
    x, y, height = page.run(
        "const r = document.querySelector('summary').getBoundingClientRect(); return [r.x, r.y, r.height]"
    )
    assert height >= 24  # a finger finds it
    page.click(x + 30, y + height / 2)
    assert page.run(closed) == [True, True]
    page.run("document.querySelector('pre.command').scrollIntoView({block: 'center'})")
    x, y = page.run("const r = document.querySelector('pre.command').getBoundingClientRect(); return [r.x, r.y]")
    page.click(x + 20, y + 12)
    assert page.run("return getSelection().toString()").strip() == "sudo reboot"


def _colours(page: Page, url: str) -> None:
    """Light and dark differ, and in both the words stand out."""
    shots = []
    for scheme in ("light", "dark"):
        _as(page, 360, scheme)
        page.call("url", url=url)
        shots.append(_picture(page))
        for look in (".fail .word", ".soft", "p", ".label"):
            ink = page.run(f"return getComputedStyle(document.querySelector('{look}')).color")
            paper = page.run("return getComputedStyle(document.querySelector('.first')).backgroundColor")
            assert contrast(ink, paper) >= 4.5, (scheme, look)  # WCAG 2.2, AA
    assert shots[0] != shots[1]


def _paper(page: Page, url: str) -> None:
    """On paper nothing can be opened, so everything is."""
    page.call("url", url=url)
    height = "return document.querySelector('details').getBoundingClientRect().height"
    closed = page.run(height)
    page.call("goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"media": "print"})
    assert page.run(height) > closed + 100
