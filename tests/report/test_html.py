"""The page: valid by the standard's parser, complete, harmless whatever a string holds, and drawn from the facts."""

import re
from functools import partial
from xml.etree import ElementTree

import html5lib
import pytest

from gpudoctor import check, demo
from gpudoctor.facts import Facts, Gpu, PciDevice
from gpudoctor.report.model import FrameworkEntry, GpuEntry, MachineEntry, PythonEntry, Report, SmokeEntry
from gpudoctor.report.renderers import html
from gpudoctor.report.renderers.html_tree import rows
from tests.builders import card, change, gpu, nvidia_host
from tests.machines.registry import machines
from tests.report.test_readers import HOSTILE, NASTY

MACHINES = {one.name: one.make for one in machines()}
MACHINES |= {f"demo {name}": partial(demo.load, name) for name in ("bad-link", "cpu-wheel", "mismatch")}
EVERY = pytest.mark.parametrize("name", MACHINES)


def page(facts: Facts) -> str:
    return html.render(check(facts=facts), facts)


def parsed(text: str) -> ElementTree.Element:
    """The page as a browser reads it; html5lib raises at what the standard calls a parse error."""
    tree: ElementTree.Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    return tree


def machine_of(devices: tuple[PciDevice, ...], gpus: tuple[Gpu, ...]) -> Facts:
    return change(change(nvidia_host(), "pci", devices), "gpus", gpus)


def words(node: ElementTree.Element) -> str:
    return " ".join("".join(node.itertext()).split())


@EVERY
def test_it_is_valid_and_asks_nobody_for_anything(name: str) -> None:
    text = page(MACHINES[name]())
    tree = parsed(text)
    assert not re.search(r"<(script|link|img|iframe|object|form)\b|@import|url\(|\bon\w+=", text)
    assert not [node for node in tree.iter() if "src" in node.attrib or "srcset" in node.attrib]
    links = {node.attrib["href"] for node in tree.iter() if "href" in node.attrib}
    assert all(one.startswith(("https://", "http://")) for one in links)
    ids = [node.attrib["id"] for node in tree.iter() if "id" in node.attrib]
    assert len(ids) == len(set(ids))
    policy = next(n for n in tree.iter("meta") if n.get("http-equiv") == "Content-Security-Policy")
    assert policy.get("content", "").startswith("default-src 'none'; ")


@EVERY
def test_each_gpu_of_the_report_is_in_the_picture(name: str) -> None:
    facts = MACHINES[name]()
    report = check(facts=facts)
    drawn = [" ".join(row.lines) for row in rows(facts, report) if row.kind == "gpu"]
    for one in report.gpus:
        assert any((one.address or f"GPU {one.index} ") in words_ for words_ in drawn), one
    assert len(drawn) >= len({one.address or one.index for one in report.gpus})


MEND = "gpudoctor fix driver.library-mismatch"


def test_the_words_of_a_page() -> None:
    text = words(parsed(page(MACHINES["upgraded-under-a-running-kernel"]())))
    whole = (
        "FAIL Driver/library version mismatch",
        "Problems to fix",
        "1. FAIL Driver/library version mismatch",
        "sudo reboot",
        MEND,
    )
    for said in (*whole, MEND):
        assert said in text


def test_a_report_without_facts_has_no_picture() -> None:
    report = check(facts=nvidia_host())
    assert 'class="machine"' not in html.render(report)
    assert 'class="machine"' in html.render(report, nvidia_host())
    assert 'class="machine"' not in html.render(report, Facts())
    parsed(html.render(Report()))


def test_hostile_strings_stay_strings() -> None:
    wicked = "</style></svg></pre><script>alert(1)</script><img src=x onerror=alert(1)>" + NASTY
    report = change_report(wicked)
    facts = machine_of((card(0, name=wicked, local_cpus=wicked, ports=(wicked,)),), (gpu(0, name=wicked),))
    text = html.render(report, facts)
    tree = parsed(text)
    assert not [node for node in tree.iter() if node.tag in ("script", "img")]
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "alert(1)" in words(tree)
    hrefs = [node.attrib["href"] for node in tree.iter() if "href" in node.attrib]
    assert set(hrefs) == {"https://docs.nvidia.com/"}


def change_report(wicked: str) -> Report:
    """A report in which every string is wicked."""
    import msgspec

    return msgspec.structs.replace(
        HOSTILE,
        status="fail",
        version=wicked,
        next=(wicked,),
        machine=MachineEntry(distribution=wicked, kernel=wicked, driver=wicked),
        pythons=(PythonEntry(path=wicked),),
        gpus=(GpuEntry(index=0, vendor=wicked, name=wicked),),
        frameworks=(FrameworkEntry(name=wicked, python=wicked),),
        smoke=(
            SmokeEntry(backend=wicked, device=wicked, kind=wicked, python=wicked, outcome="failed", message=wicked),
        ),
    )


SLOW = {"link_width": 4, "link_width_max": 16, "link_generation": 4, "link_generation_max": 4}


@pytest.mark.parametrize(
    ("of_card", "of_gpu", "expected"),
    [
        ({}, {}, "PCIe 4.0 (now 1.0), x16"),
        ({}, {"link_generation": 4}, "PCIe 4.0, x16"),
        (SLOW, SLOW, "PCIe 4.0, x4 of x16 lanes"),
        ({"link_width": 8, "link_width_max": 8}, {"link_width": 8, "link_generation": 4}, "PCIe 4.0, x8"),
        ({"integrated": True}, {"integrated": True}, None),
    ],
)
def test_links(of_card: dict[str, object], of_gpu: dict[str, object], expected: str | None) -> None:
    facts = machine_of((card(0, **of_card),), (gpu(0, **of_gpu),))
    (row,) = (row for row in rows(facts, Report()) if row.kind == "gpu")
    assert (row.link.words if row.link else None) == expected
    assert "NARROW" not in " ".join(row.lines)  # what is no finding is no fault


def test_a_narrow_link_is_marked_by_colour_and_words() -> None:
    facts = MACHINES["card-not-seated"]()
    (row,) = (row for row in rows(facts, check(facts=facts)) if row.kind == "gpu")
    assert row.lines[-2:] == ("PCIe 4.0, x1 of x16 lanes", "NARROW LINK: see 1, link.narrow-pcie")
    text = page(facts)
    assert text.count('stroke-width="1.25" class="link narrow"/>') == 1
    assert 'class="box gpu warn"' in text


def test_switches_and_nodes() -> None:
    switch = ("0000:00:01.0", "0000:01:00.0", "0000:02:00.0")
    devices = (
        card(0, ports=switch, numa_node=0, local_cpus="0-31"),
        card(1, ports=(*switch[:2], "0000:02:01.0"), numa_node=0),
        card(2, ports=("0000:80:01.0",), numa_node=1),
    )
    facts = machine_of(devices, tuple(gpu(n) for n in range(3)))
    drawn = [(row.depth, row.lines[0]) for row in rows(facts, Report())]
    name = "NVIDIA GeForce RTX 4090"
    assert drawn == [
        (0, "NUMA node 0"),
        (1, "Root port 0000:00:01.0"),
        (2, "PCIe switch 0000:01:00.0"),
        (3, f"GPU 0  {name}"),
        (3, f"GPU 1  {name}"),
        (0, "NUMA node 1"),
        (1, "Root port 0000:80:01.0"),
        (2, f"GPU 2  {name}"),
    ]


def test_nvlink_joins_those_that_have_it() -> None:
    facts = MACHINES["hgx-h100"]()
    text = page(facts)
    assert text.count('class="nvlink"') == 8 + 1
    assert "NVLink: 18 of 18 links up, fabric completed" in text
    assert "nvlink" not in page(change(nvidia_host(), "gpus.0.nvlinks", (True,))).partition("</style>")[2]


def test_bars_stand_beside_their_limits() -> None:
    tree = parsed(page(demo.load("bad-link")))
    found = [words(node) for node in tree.iter("div") if node.get("class") == "row"]
    assert any(re.fullmatch(r"matmul fp32.*TFLOP/s.*\d+% of \d+.*", one) for one in found)
    bars = [node.get("width") for node in tree.iter() if node.tag.endswith("rect") and node.get("class") == "bar"]
    assert bars
    assert all(0 < float(width or 0) <= 100 for width in bars)


def test_a_notebook_shows_the_page_in_a_frame_without_scripts() -> None:
    wicked = '"></iframe><script>alert(1)</script>&quot;' + NASTY
    report = Report(status="fail", version=wicked, machine=MachineEntry(product=wicked), next=(wicked,))
    text = report._repr_html_()
    body = html5lib.HTMLParser(namespaceHTMLElements=False).parseFragment(text)
    (frame,) = list(body)
    assert (frame.tag, len(frame), frame.get("sandbox")) == ("iframe", 0, "allow-same-origin")
    shown = parsed(frame.attrib["srcdoc"])
    assert not list(shown.iter("script"))
    assert words(shown) == words(parsed(html.render(report)))
