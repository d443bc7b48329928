"""Hooks of mkdocs: files of the tree that the pages link to are on the code host, and README has the way to install."""

import logging
import os
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)#\s]+)(#[^)\s]*)?(?=\))")
# What a browser fetches by itself from another host; the last is the theme's request for a repository's stars.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\ssrc=["']?(?:https?:)?//|data-md-component="?source\b"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preconnect|preload|icon))[^>]*\shref=["']?(?:https?:)?//"""
)
LOG = logging.getLogger("mkdocs.hooks.gpudoctor")
SECTIONS = ("Install", "Which Python is checked")  # of README


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Make the page "Install" of README's sections, so that their text is written once."""
    with open(os.path.join(os.path.dirname(config.docs_dir), "README.md"), encoding="utf-8") as file:
        parts = dict(part.partition("\n")[::2] for part in file.read().split("\n## "))
    install, *others = (parts[name] for name in SECTIONS)
    text = f"# Install\n{install}" + "".join(
        f"\n## {name}\n{part}" for name, part in zip(SECTIONS[1:], others, strict=True)
    )
    text = text.replace("](docs/", "](")
    files.append(File.generated(config, "install.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Lead links out of docs/ to the code host; a directory's, too."""
    here = os.path.dirname(page.file.src_uri)

    def led(found: re.Match[str]) -> str:
        if found[1].endswith("README.md") and found[2] == "#install":
            return f"{os.path.relpath('.', here or '.')}/install.md"
        path = os.path.normpath(os.path.join("docs", here, found[1]))
        inside = path.startswith("docs" + os.sep) and path.endswith((".md", ".svg", ".png"))
        if inside:
            return found[0]
        return f"{config.repo_url.rstrip('/')}/blob/main/{path}{found[2] or ''}"

    return LINK.sub(led, markdown)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Warn, so that a strict build fails, where a browser would ask another host for something."""
    if found := FETCHED.search(output):
        LOG.warning("%s asks another host: %s", page.file.src_uri, found[0])
    return output
