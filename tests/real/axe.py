"""axe-core, which finds what people with a screen reader or weak eyes cannot use; PyPI has it in a package."""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from tests.real.browser import Page

# Of the package only this file is wanted, so it is installed without playwright (.ci/run).
PACKAGE, NAME = "axe-playwright-python", "axe.min.js"
RUN = """const done = arguments[0];
axe.run().then(found => done(found.violations.map(one => (
    {id: one.id, impact: one.impact, nodes: one.nodes.slice(0, 5).map(node => node.html.slice(0, 200))}))));"""


def _script() -> Path | None:
    try:
        found = files(PACKAGE) or ()
    except PackageNotFoundError:
        return None
    return next((Path(str(one.locate())) for one in found if one.name == NAME), None)


AXE = _script()


def violations(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds on the page: the rule, how bad it is, and the elements."""
    assert AXE is not None
    page.run(f"{AXE.read_text()}; window.axe = axe")
    found: list[dict[str, Any]] = page.call("execute/async", script=RUN, args=[])
    return found
