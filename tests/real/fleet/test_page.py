"""The page of a fleet in Chromium: a click or a key drills down, a filter narrows, and nothing is asked of anybody."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.renderers import html, html_grid
from gpudoctor.fleet.summary import Departure, Fleet
from tests.fleet.fleets import FLEETS, large
from tests.real.browser import Page, browser, needs_browser, until
from tests.real.colours import contrast

pytestmark = [*needs_browser, pytest.mark.timeout(240)]
SEEN = "return [...document.querySelectorAll('#grid i')].filter(one => !one.hidden).map(one => one.title)"
SAID = "return document.getElementById('said').innerText"
# What does not fit into its box.
CUT = """return [...document.querySelectorAll('p, pre, dd, h1, h3, h4, li')]
    .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all, which notes what a page complains of."""
    with browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def look(page: Page, width: int = 1280, height: int = 800, scheme: str = "light", script: bool = True) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    page.call("goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=size)
    colours = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.call("goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params=colours)
    page.call("goog/cdp/execute", cmd="Emulation.setScriptExecutionDisabled", params={"value": not script})


def shown(page: Page, folder: Path, fleet: Fleet) -> None:
    """Open the page of a fleet; it asks nobody for anything, and has nothing to complain of."""
    path = folder / "fleet.html"
    path.write_text(html.render(fleet))
    page.call("se/log", type="browser")  # what others complained of
    page.call("url", url=path.as_uri())


def holds(page: Page) -> None:
    assert page.run("return performance.getEntriesByType('resource').map(one => one.name)") == []
    assert page.call("se/log", type="browser") == []


def test_what_a_page_complains_of_is_heard(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(html.render(large(40)).replace("</main>", "<script>document.title = 'owned'</script></main>"))
    page.call("se/log", type="browser")
    page.call("url", url=path.as_uri())
    assert page.run("return document.title") != "owned"
    (said,) = page.call("se/log", type="browser")
    assert "Content Security Policy" in said["message"]


@pytest.mark.parametrize("count", [40, 1000, 10_000])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_it_fits_and_asks_nobody(page: Page, tmp_path: Path, count: int, width: int, height: int) -> None:
    look(page, width, height)
    shown(page, tmp_path, large(count))
    assert page.run("return [document.documentElement.scrollWidth <= innerWidth, innerWidth]") == [True, width]
    assert page.run(CUT) == []
    assert len(page.run(SEEN)) == count
    # A cell of each node, and its row's name and boxes; what is out of sight is not drawn.
    assert page.run("return document.querySelectorAll('*').length") < count + 3 * (count / html_grid.ROW + 1) + 500
    last = "document.querySelector('#grid .row:last-child i')"
    assert count < 10_000 or not page.run(f"return {last}.checkVisibility({{contentVisibilityAuto: true}})")
    # The board scrolls by itself, so that what is below it stays within reach.
    assert page.run("return document.getElementById('grid').clientHeight") <= 0.6 * height + 1
    least = page.run("return Math.min(...[...document.querySelectorAll('#grid i')].map(one => one.offsetWidth))")
    assert least >= (24 if width < 600 else 14)  # WCAG 2.2, 2.5.8, where a finger has to hit it
    holds(page)


def centre(page: Page, what: str) -> tuple[float, float]:
    x, y = page.run(
        f"const one = {what}; one.scrollIntoView({{block: 'center'}}); const r = one.getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2]"
    )
    return x, y


def cell(name: str) -> str:
    return f"document.querySelector('#grid i[title={name}]')"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_click_on_a_node_tells_of_it(page: Page, tmp_path: Path, width: int) -> None:
    look(page, width)
    shown(page, tmp_path, large(1000))
    page.click(*centre(page, cell("node0014")))
    said = page.run(SAID)
    for words in ("node0014", "fail, 8 x NVIDIA H100", "A GPU has fewer PCIe lanes", "link.narrow-pcie", "health.ecc"):
        assert words in said
    drawer = "document.getElementById('said').getBoundingClientRect()"
    assert page.run(f"return {drawer}.bottom <= innerHeight + 1 && {drawer}.top >= 0"), "the drawer leaves the window"
    assert page.run("return document.querySelector('header').getBoundingClientRect().top") == 0
    beside = f"return at.right <= {drawer}.left || at.bottom <= {drawer}.top"
    at = f"const at = {cell('node0014')}.getBoundingClientRect(); "
    assert page.run(at + beside), "the node lies under the drawer"
    page.click(*centre(page, cell("node0017")))
    said = page.run(SAID)
    assert "VBIOS: 96.00.61.00.01 and 96.00.5E.00.02, most nodes have 96.00.61.00.01" in said
    assert "GPU 3, pytorch.transfer.h2d pinned: 13.1 GB/s; the median is 54.9 (-104.5 sigma)" in said
    page.click(*centre(page, cell("node0998")))
    assert "No route to host" in page.run(SAID)
    page.click(*centre(page, cell("node0001")))
    assert "No findings for this node." in page.run(SAID)
    page.click(*centre(page, "document.querySelector('#said button')"))
    assert page.run("return document.getElementById('said').hidden")
    holds(page)


def test_the_link_of_a_cause_leads_to_it(page: Page, tmp_path: Path) -> None:
    look(page)
    shown(page, tmp_path, large(1000))
    page.click(*centre(page, cell("node0014")))
    x, y = page.run("const r = document.querySelector('#said a').getClientRects()[0]; return [r.x + 9, r.y + 9]")
    page.click(x, y)
    below = "return document.querySelector('#finding-2').getBoundingClientRect().top - "
    assert 0 <= page.run(below + "document.querySelector('header').getBoundingClientRect().bottom") < 100
    holds(page)


KEYS = {"Right": "\ue014", "Left": "\ue012", "Down": "\ue015", "Up": "\ue013", "End": "\ue010", "Escape": "\ue00c"}


def press(page: Page, *names: str) -> None:
    steps = [{"type": kind, "value": KEYS[name]} for name in names for kind in ("keyDown", "keyUp")]
    page.call("actions", actions=[{"type": "key", "id": "keys", "actions": steps}])


def test_keys_go_from_node_to_node(page: Page, tmp_path: Path) -> None:
    look(page)
    shown(page, tmp_path, large(1000))
    page.run("document.getElementById('grid').focus()")
    at = "return document.querySelector('#grid .at')?.title"
    press(page, "Right")
    assert page.run(at) == "node0001"
    press(page, "Right", "Right", "Left")
    assert page.run(at) == "node0002"
    press(page, "Down")
    row = int(page.run(at)[4:]) - 2
    assert row > 10
    press(page, "Down", "Up", "Up")
    assert page.run(at) == "node0002"
    assert page.run("return document.getElementById('grid').getAttribute('aria-activedescendant')") == "chosen"
    assert page.run("return document.getElementById('chosen').getAttribute('aria-label')") == "node0002: pass"
    press(page, "End")
    assert page.run(at) == "node1000"
    press(page, "Escape")
    assert page.run(at) is None
    holds(page)


def test_keys_stay_in_their_column_where_rows_have_several_lines(page: Page, tmp_path: Path) -> None:
    look(page, 390, 844)
    shown(page, tmp_path, large(1000))
    page.run("document.getElementById('grid').focus()")
    at = "const r = document.querySelector('#grid .at').getBoundingClientRect(); return r.left"
    press(page, "Right", "Right")
    left = page.run(at)
    for keys in (["Down"] * 6, ["Up"] * 5):
        press(page, *keys)
        assert page.run(at) == left
    assert page.run("return document.querySelector('#grid .at').title") not in ("node0002", "node0042")
    holds(page)


def test_filters_narrow_and_are_taken_back(page: Page, tmp_path: Path) -> None:
    look(page)
    shown(page, tmp_path, large(1000))
    page.click(
        *centre(page, "[...document.querySelectorAll('#legend button')].find(b => b.innerText.includes('fail'))")
    )
    assert len(page.run(SEEN)) == 11
    page.click(
        *centre(page, "[...document.querySelectorAll('#legend button')].find(b => b.innerText.includes('unreach'))")
    )
    assert len(page.run(SEEN)) == 13
    assert page.run("return document.querySelector('#filter [role=status]').innerText") == "13 of 1,000 nodes"
    page.click(*centre(page, "document.querySelector('#filter input')"))
    page.call("actions", actions=[{"type": "key", "id": "keys", "actions": _typed("ECC-unc")}])
    assert page.run(SEEN) == ["node0014", "node0015"]
    page.call("actions", actions=[{"type": "key", "id": "keys", "actions": _typed("zz")}])
    assert page.run("return document.getElementById('none').innerText") == (
        "No node matches ECC-unczz in the selected states."
    )
    assert not page.run("return document.getElementById('grid').checkVisibility()")
    page.click(*centre(page, "document.querySelector('#filter button')"))
    assert len(page.run(SEEN)) == 1000
    assert not page.run("return document.getElementById('none').checkVisibility()")
    assert page.run("return document.querySelectorAll('[aria-pressed=true]').length") == 0
    page.click(*centre(page, "document.querySelectorAll('#finding-2 button.find')[0]"))
    assert page.run(SEEN) == ["node0012", "node0013", "node0014"]
    holds(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_verdict_and_the_filters_stay_in_sight(page: Page, tmp_path: Path, width: int) -> None:
    look(page, width)
    shown(page, tmp_path, large(1000))
    page.run("document.querySelector('#changes').scrollIntoView()")
    header = "const r = document.querySelector('header').getBoundingClientRect(); "
    assert page.run(header + "return [r.top, r.height < innerHeight / 3]") == [0, True]
    assert page.run("return document.querySelector('h1').innerText").startswith("FAIL 950 of 1,000 nodes are healthy")
    for link in ("#drift", "#finding-3"):
        page.run(f"document.querySelector('nav a[href=\"{link}\"]').click()")
        assert page.run(header + f"return document.querySelector('{link}').getBoundingClientRect().top >= r.bottom")
    holds(page)


def test_a_button_copies_the_names_of_the_nodes(page: Page, tmp_path: Path) -> None:
    look(page)
    shown(page, tmp_path, large(1000))
    page.run("document.querySelector('main').prepend(document.createElement('textarea'))")
    page.click(*centre(page, "document.querySelector('#finding-1 button.copy')"))
    until(lambda: page.run("return document.querySelector('#finding-1 button.copy').innerText") == "copied", "copied")
    page.click(*centre(page, "document.querySelector('textarea')"))
    control, v = "\ue009", "v"
    steps = [("keyDown", control), ("keyDown", v), ("keyUp", v), ("keyUp", control)]
    keys = [{"type": kind, "value": key} for kind, key in steps]
    page.call("actions", actions=[{"type": "key", "id": "keys", "actions": keys}])
    assert page.run("return document.querySelector('textarea').value") == "node[0005-0008,0501-0503]"


def _typed(text: str) -> list[dict[str, str]]:
    return [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]


def ambiguous() -> Fleet:
    """Causes of one check, values that begin alike, a state without a reason: words alone do not tell them apart."""
    fleet = large(1000)
    cause, drift, why = fleet.causes[0], fleet.drifts[0], fleet.missing[0]
    values = tuple(
        Departure(value=value, nodes=nodes, count=1) for value, nodes in (("1", "node0002"), ("16", "node0003"))
    )
    return msgspec.structs.replace(
        fleet,
        causes=(*fleet.causes, msgspec.structs.replace(cause, cause="another", nodes="node0900", count=1, times=1)),
        drifts=(*fleet.drifts, msgspec.structs.replace(drift, departures=values)),
        missing=(msgspec.structs.replace(why, why="", nodes="node0998", count=1), *fleet.missing[1:]),
    )


@pytest.mark.parametrize("fleet", [large(1000), ambiguous()], ids=["large", "ambiguous"])
def test_every_button_finds_the_nodes_that_stand_beside_it(page: Page, tmp_path: Path, fleet: Fleet) -> None:
    look(page)
    shown(page, tmp_path, fleet)
    counted = page.run(
        "return [...document.querySelectorAll('button.find')].map(one => { one.click();"
        "return [one.previousElementSibling.textContent,"
        " [...document.querySelectorAll('#grid i')].filter(cell => !cell.hidden).length] })"
    )
    assert len(counted) > 8
    assert [int(words.split(" node")[0].replace(",", "")) for words, _ in counted] == [count for _, count in counted]


def test_without_scripts_every_section_is_there(page: Page, tmp_path: Path) -> None:
    look(page, script=False)
    shown(page, tmp_path, large(1000))
    look(page)  # the browser's own tools need scripts; the page has been made without
    reported = page.run("return document.querySelector('main').innerText")
    for words in (
        "Problems to fix",
        "sudo reboot",
        "Without a verdict",
        "Configuration drift",
        "Measurements",
        "Since",
    ):
        assert words in reported
    assert page.run("return [...document.querySelectorAll('button')].every(one => !one.checkVisibility())")
    assert page.run("return document.querySelectorAll('#grid i').length") == 1000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_written_stands_out(page: Page, tmp_path: Path, scheme: str) -> None:
    look(page, 390, 844, scheme)
    shown(page, tmp_path, large(40))
    for what in ("i.s0", "i.s1", "i.s10"):
        look_of = f"getComputedStyle(document.querySelector('#grid {what}'))"
        assert contrast(page.run(f"return {look_of}.color"), page.run(f"return {look_of}.backgroundColor")) >= 4.5, what
    paper = page.run("return getComputedStyle(document.querySelector('#grid')).backgroundColor")
    assert contrast(page.run("return getComputedStyle(document.querySelector('#grid i.s12')).color"), paper) >= 4.5


def test_a_hostile_fleet_runs_nothing(page: Page, tmp_path: Path) -> None:
    look(page)
    shown(page, tmp_path, FLEETS["hostile"])
    page.run("window.alert = () => { document.title = 'owned' }; document.querySelector('#grid i').click()")
    assert "alert(1)" in page.run(SAID)
    assert page.run("return [document.title, document.scripts.length, document.images.length]")[1:] == [2, 0]
    assert page.run("return document.title").startswith("gpudoctor: FAIL")
    holds(page)


def test_what_a_search_finds_is_named_where_it_is_typed(page: Page, tmp_path: Path) -> None:
    look(page, 1280, 800)
    shown(page, tmp_path, large(1000))
    page.run("const one = document.querySelector('#filter input'); one.value = 'narrow-pcie'; "
             "one.dispatchEvent(new Event('input'))")  # fmt: skip
    hits = "return [...document.querySelectorAll('#hits li')].map(one => one.innerText.trim())"
    assert page.run(hits) == ["F node0012", "F node0013", "F node0014"]
    assert page.run("return document.getElementById('hits').getBoundingClientRect().bottom < innerHeight / 2")
    labels = """return [...document.querySelectorAll('#grid .row b')]
        .filter(one => one.checkVisibility()).map(one => one.innerText)"""
    assert page.run(labels) == ["node0012"]  # the first that is left of its row
    page.run("document.querySelectorAll('#hits button')[1].click()")
    said = page.run(SAID)
    assert "GPU 4 has 4 of 16 lanes." in said
    assert "LnkSta of 0000:4b:00.0: Width x4" in said
    page.run(
        "const one = document.querySelector('#filter input'); one.value = ''; one.dispatchEvent(new Event('input'))"
    )
    assert page.run("return document.getElementById('hits').hidden")
    holds(page)
