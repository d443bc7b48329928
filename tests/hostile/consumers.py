"""What reads our output, and what must never reach it."""

import io
import json
import re
from xml.etree import ElementTree

import html5lib
from prometheus_client.parser import text_string_to_metric_families
from tap.parser import Parser as TapParser

# C0 without newline and tab, DEL, C1, line and paragraph separators, and the marks that turn the direction of writing.
HARMFUL = {chr(c) for c in [*range(9), *range(11, 32), 127, *range(128, 160)]}
HARMFUL |= set("\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ACTIVE = {"script", "iframe", "object", "embed", "img", "base", "form", "link", "foreignobject", "animate", "set"}
XHTML = "{http://www.w3.org/1999/xhtml}"


def terminal(text: str) -> None:
    """A terminal: nothing but letters, newlines and tabs."""
    found = HARMFUL & set(text)
    assert not found, found
    text.encode()


def one_json(text: str) -> None:
    """A reader of JSON, as strict as browsers and databases are: no NaN, no separators, one document."""
    terminal(text)
    json.loads(text, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def page(text: str, scripts: int = 0) -> None:
    """A browser: no element and no attribute that runs or loads anything, beside the page's own scripts."""
    terminal(text)
    tree = html5lib.parse(text, treebuilder="etree")
    found = 0
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        name = element.tag.rpartition("}")[2].lower()
        found += name == "script"
        assert name not in ACTIVE - {"script"}, name
        for key, value in element.attrib.items():
            assert not str(key).lower().startswith("on"), key
            if str(key).rpartition("}")[2].lower() in ("href", "src", "action", "srcdoc", "formaction"):
                assert re.match(r"https://|#", value), value
    assert found == scripts


def one_xml(text: str) -> None:
    """A parser of XML that knows no entity of its own."""
    terminal(text)
    assert "<!DOCTYPE" not in text
    assert "<!ENTITY" not in text
    ElementTree.fromstring(text)


def metrics(text: str) -> None:
    """Prometheus: every line is one, and no series stands twice."""
    terminal(text)
    samples = [
        (s.name, tuple(sorted(s.labels.items()))) for f in text_string_to_metric_families(text) for s in f.samples
    ]
    assert len(samples) == len(set(samples))


def tap(text: str) -> None:
    """A TAP harness: as many points as planned, and nobody bails out."""
    terminal(text)
    kinds = {line.category for line in TapParser().parse(io.StringIO(text))}
    assert kinds <= {"test", "version", "plan", "diagnostic"}, kinds


def nagios(text: str) -> None:
    """Nagios: one bar at most, and only figures of ours behind it."""
    terminal(text)
    words, bar, more = text.partition("|")
    assert words.startswith(("GPU OK - ", "GPU WARNING - ", "GPU CRITICAL - ", "GPU UNKNOWN - "))
    assert "|" not in more
    assert not bar or re.fullmatch(r"(?: [a-z]+=[\d.]+s?(?:;[\d.]*){0,4})+", more.splitlines()[0]), more


def npd(text: str) -> None:
    """node-problem-detector: one short line."""
    terminal(text)
    assert text.count("\n") == 1
    assert len(text) <= 80


def github(text: str) -> None:
    """GitHub's runner: every line is an annotation of ours, which no word of a machine begins."""
    terminal(text)
    for line in text.splitlines():
        assert re.fullmatch(r"::(error|warning|notice) title=[^:,\r\n]*::[^\r\n]*", line), line


def markdown(text: str) -> None:
    """An issue tracker: no element but ours."""
    terminal(text)
    outside = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", text).replace("<!-- -->", "")  # what keeps "@name" from calling
    for tag in re.findall(r"<\s*/?\s*([a-zA-Z!][\w-]*+)(?!://)", re.sub(r"(`+).*?\1", "", outside)):
        assert tag.lower() in {"details", "summary", "br", "sub"}, tag


READERS = {
    "text": terminal, "json": one_json, "markdown": markdown, "html": page, "junit": one_xml, "sarif": one_json,
    "github": github, "tap": tap, "nagios": nagios, "npd": npd, "prometheus": metrics,
}  # fmt: skip
