"""The templates of the HTML pages: every string is escaped unless it is markup, whoever wrote the report."""

from __future__ import annotations

import os
import re
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gpudoctor.report.fixes import label, notes, verifications
from gpudoctor.report.grouping import effects, evidence, own_commands, sentences, together
from gpudoctor.report.model import word
from gpudoctor.report.numbers import amount, number
from gpudoctor.report.renderers.svg import escaped
from gpudoctor.report.sanitize import clean

_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+")


def prose(text: str) -> Markup:
    """A sentence, with what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return Markup().join(
        Markup("<code>{}</code>").format(clean(one)) if place % 2 else escaped(one) for place, one in enumerate(parts)
    )


def address(text: str) -> bool:
    """Whether it is an address of the web: only that becomes a link."""
    return _ADDRESS.fullmatch(text) is not None


@cache
def templates() -> Environment:
    """The templates next to this module and next to the fleet's page, which uses the parts of this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    fleet = os.path.join(os.path.dirname(os.path.dirname(here)), "fleet", "renderers")
    made = Environment(
        loader=FileSystemLoader([here, fleet]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,  # no escape sequence, no turned line
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"prose": prose, "word": word, "number": number, "amount": amount}
    made.tests["address"] = address
    made.globals |= {
        one.__name__: one for one in (label, notes, verifications, own_commands, sentences, together, evidence, effects)
    }
    return made
