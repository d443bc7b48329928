"""Both pages by axe-core (WCAG 2.2 and best practices) in Chromium: light and dark, on a desk and on a phone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor import check, demo
from gpudoctor.fleet.renderers import html as fleet_page
from gpudoctor.report.renderers import html as report_page
from tests.fleet.fleets import FLEETS
from tests.machines.registry import machines
from tests.real.axe import AXE, violations
from tests.real.browser import Page, browser, needs_browser
from tests.real.fleet.test_page import look

pytestmark = [
    *needs_browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(AXE is None, reason="no axe.min.js: pip install --no-deps axe-playwright-python"),
]
EVERYWHERE = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.fixture(scope="module")
def hgx() -> str:
    facts = next(one for one in machines() if one.name == "hgx-h100").make()
    return report_page.render(check(facts=facts), facts)


def test_it_finds_what_is_wrong(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<!DOCTYPE html><title>t</title><button></button><p style='color: #ccc'>grey</p>")
    page.call("url", url=path.as_uri())
    found = {one["id"] for one in violations(page)}
    assert {"button-name", "color-contrast", "html-has-lang"} <= found


@pytest.mark.parametrize(("width", "scheme"), EVERYWHERE)
@pytest.mark.parametrize("name", ["mismatch", "bad-link", "hgx"])
def test_the_page_of_a_report(page: Page, tmp_path: Path, hgx: str, name: str, width: int, scheme: str) -> None:
    facts = None if name == "hgx" else demo.load(name)
    _open(page, tmp_path, report_page.render(check(facts=facts), facts) if facts else hgx, width, scheme)
    page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    _sound(page)


@pytest.mark.parametrize(("width", "scheme"), EVERYWHERE)
@pytest.mark.parametrize("name", ["large", "healthy", "empty"])
def test_the_page_of_a_fleet(page: Page, tmp_path: Path, name: str, width: int, scheme: str) -> None:
    _open(page, tmp_path, fleet_page.render(FLEETS[name]), width, scheme)
    page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    _sound(page)
    if name == "large":
        page.run("document.querySelector('#grid i[title=node0017]').click()")  # the drawer opens
        _sound(page)
        page.run(
            "const one = document.querySelector('input'); one.value = 'zzzz'; one.dispatchEvent(new Event('input'))"
        )
        assert page.run("return document.getElementById('none').innerText") == "No node matches zzzz."
        _sound(page)


def _open(page: Page, folder: Path, text: str, width: int, scheme: str) -> None:
    path = folder / "page.html"
    path.write_text(text)
    look(page, width, 844, scheme)
    page.call("url", url=path.as_uri())


def _sound(page: Page) -> None:
    found = violations(page)
    assert found == [], json.dumps(found, indent=1)
