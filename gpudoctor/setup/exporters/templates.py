"""The templates of scripts and Dockerfiles: a string of the plan is quoted unless it is marked as code."""

from __future__ import annotations

import os
import shlex

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from gpudoctor.setup.exporters.common import remarks
from gpudoctor.tasks import Edit


class Code(str):
    """A part of the file as it stands, such as a command that is quoted already."""

    __slots__ = ()


def template(name: str) -> Template:
    """A template of this package, in which each value that is no `Code` is quoted for a shell."""
    made = Environment(
        loader=FileSystemLoader(os.path.dirname(os.path.abspath(__file__))),
        autoescape=False,  # noqa: S701 - that is for HTML: `finalize` quotes for a shell
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, (Code, int)) else shlex.quote(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"remarks": lambda text: Code("\n".join(remarks(text))), "code": Code, "heredoc": heredoc}
    return made.get_template(name)


def heredoc(file: Edit) -> tuple[Code, Code]:
    """The lines of a file, and a mark that none of them is."""
    mark = "END_OF_FILE"
    while mark in (file.text or ""):
        mark += "_"
    return Code((file.text or "").rstrip("\n")), Code(mark)
