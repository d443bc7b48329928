"""The page: valid by the standard's parser, whole without its script, and harmless whatever a string holds."""

import base64
import hashlib
import json
import re
from typing import Any
from xml.etree import ElementTree

import html5lib
import pytest

from gpudoctor.fleet.renderers import html, html_grid
from gpudoctor.fleet.renderers.nodes import nodes
from gpudoctor.fleet.summary import STATES, Fleet
from tests.fleet.fleets import EMPTY, FLEETS, H100, large

EVERY = pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS.keys())


def parsed(text: str) -> ElementTree.Element:
    """The page as a browser reads it; html5lib raises at what the standard calls a parse error."""
    tree: ElementTree.Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    return tree


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def without_scripts(tree: ElementTree.Element) -> str:
    body = tree.find("body")
    assert body is not None
    for script in body.findall("script"):
        body.remove(script)
    return words(body)


def reported(tree: ElementTree.Element) -> dict[str, Any]:
    (data,) = (node for node in tree.iter("script") if node.get("id") == "data")
    found: dict[str, Any] = json.loads(data.text or "")
    return found


@EVERY
def test_it_is_valid_and_asks_nobody_for_anything(fleet: Fleet) -> None:
    tree = parsed(html.render(fleet))
    assert not [node for node in tree.iter() if node.tag in ("link", "img", "iframe", "object", "form", "base")]
    assert not [node for node in tree.iter() if {"src", "srcset", "style"} & set(node.attrib)]
    assert not [name for node in tree.iter() for name in node.attrib if name.startswith("on")]
    links = {node.attrib["href"] for node in tree.iter() if "href" in node.attrib and node.attrib["href"][0] != "#"}
    assert all(one.startswith("https://docs.nvidia.com/") for one in links)
    ids = [node.attrib["id"] for node in tree.iter() if "id" in node.attrib]
    assert len(ids) == len(set(ids))


@EVERY
def test_only_our_script_may_run(fleet: Fleet) -> None:
    tree = parsed(html.render(fleet))
    data, script = tree.iter("script")
    assert data.get("type") == "application/json"
    assert script.attrib == {}
    policy = next(n.get("content", "") for n in tree.iter("meta") if n.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256((script.text or "").encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith(f"; script-src 'sha256-{digest}'")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|fetch|XMLHttp|import", script.text or ""
    )


def test_hostile_strings_stay_strings() -> None:
    text = html.render(FLEETS["hostile"])
    tree = parsed(text)
    assert len(list(tree.iter("script"))) == 2
    assert not [node for node in tree.iter() if node.tag in ("img", "link")]
    assert not set(text) & {"\x1b", "\x9b", "\u202e", "\u2028", "\x00", "\ud800"}
    assert "alert(1)" in words(tree)
    assert reported(tree)["causes"][0][0].startswith("</script></style>")
    text.encode()


def test_every_section_is_there_without_the_script() -> None:
    page = without_scripts(parsed(html.render(FLEETS["large"])))
    order = (
        "FAIL 950 of 1,000 nodes are healthy",
        "F fail 11",
        "750 nodes with",
        "Problems to fix",
        "1. FAIL The driver's libraries are not those of the loaded kernel module",
        "node[0005-0008,0501-0503]",
        "sudo reboot",
        "Without a verdict",
        "No route to host",
        "Configuration drift",
        "580.95.05 on 742 of 750",
        "570.172.08",
        "Measurements",
        "node0017 GPU 3: 13.1 GB/s (-104.5 sigma)",
        "Since 2026-11-20 03:20:44 UTC",
        "pass before, fail now (7 nodes) node[0005-0008,0501-0503]",
    )
    places: list[int] = []
    for said in order:
        places.append(page.index(said, places[-1] if places else 0))
    assert places == sorted(places)


def cells(tree: ElementTree.Element) -> list[ElementTree.Element]:
    (grid,) = (node for node in tree.iter() if node.get("id") == "grid")
    return [node for node in grid.iter() if node.tag == "i"]


def test_a_cell_a_node_with_a_letter_beside_its_colour() -> None:
    fleet = FLEETS["large"]
    drawn = cells(parsed(html.render(fleet)))
    assert [cell.get("title") for cell in drawn] == [node.name for node in nodes(fleet)]
    by_name = {cell.get("title"): cell for cell in drawn}
    assert [by_name[name].text for name in ("node0001", "node0005", "node0010", "node0018")] == ["✓", "F", "T", "I"]
    assert by_name["node0998"].text == "U"
    assert len(set(html_grid.LETTERS.values())) == len(STATES) == len(html_grid.LETTERS)


def test_what_is_told_of_a_node_is_what_the_summary_says() -> None:
    tree = parsed(html.render(FLEETS["large"]))
    names = [cell.get("title") for cell in cells(tree)]
    data = reported(tree)

    def of(name: str) -> dict[str, Any]:
        found: dict[str, Any] = data["nodes"].get(str(names.index(name)), {})
        return found

    assert [data["causes"][n][0] for n in of("node0014")["c"]] == ["link.narrow-pcie", "health.ecc-uncorrected"]
    assert [data["departures"][n] for n in of("node0005")["d"]] == [
        ["driver (loaded)", "570.172.08", "580.95.05", "nvidia.kernel.loaded"]
    ]
    spread, device, value, deviations = of("node0017")["o"][0]
    assert (data["spreads"][spread][0], device, value) == ("pytorch.transfer.h2d pinned", "GPU 3", 13.1)
    assert deviations == -104.5
    assert data["missing"][of("node0998")["m"]].startswith("ssh: ")
    assert of("node0001") == {}
    assert data["hardware"][data["of"][0]] == H100


def test_the_number_of_a_cause_leads_to_it() -> None:
    tree = parsed(html.render(FLEETS["large"]))
    ids = {node.get("id"): node for node in tree.iter("article")}
    for place, (_, _, title) in enumerate(reported(tree)["causes"], 1):
        assert title in words(ids[f"finding-{place}"])


def test_of_a_fleet_that_no_browser_likes_only_the_ill_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_grid, "MOST", 500)
    tree = parsed(html.render(large(1000)))
    drawn = [cell.get("title") for cell in cells(tree)]
    assert len(drawn) < 500
    assert {"node0005", "node0017", "node0998"} <= set(drawn)
    assert "node0001" not in drawn
    assert f"{1000 - len(drawn)} healthy nodes are not shown" in words(tree)


def test_an_empty_fleet_has_no_grid() -> None:
    tree = parsed(html.render(EMPTY))
    assert not [node for node in tree.iter() if node.get("id") == "grid"]
    assert "No nodes" in words(tree)


def test_the_head_says_that_like_nodes_differ() -> None:
    said = "Configuration drift in 3 facts; outliers in 1 measured figure."
    assert f"<p>{said}</p>" in html.render(FLEETS["large"]).partition("<nav")[0]
    assert "do not agree" not in html.render(FLEETS["healthy"])
