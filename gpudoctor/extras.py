"""How an optional extra is added to gpudoctor, in the way in which it was installed."""

import os
import sys

NAME = "gpudoctor-cli"
# What the prefix of an environment holds, and what adds an extra to a tool in it.
WAYS = {
    "/uv/tools/": "uv tool install '{}'",
    "/archive-v0/": "uvx --from '{}' gpudoctor",
    "/environments-v2/": "uvx --from '{}' gpudoctor",
    "/pipx/venvs/": "pipx install --force '{}'",
    "/pipx/.cache/": "pipx run --spec '{}' gpudoctor",
}


def install_command(extra: str, prefix: str = sys.prefix, source: str | None = None) -> str:
    """The command that adds an extra.

    Args:
        extra: its name in pyproject.toml.
        prefix: the environment that gpudoctor is in.
        source: what was installed: a checkout, a wheel, or the name of the distribution; None: asks pip's record of it.
    """
    source = _source() if source is None else source
    way = next((way for place, way in WAYS.items() if place in f"{prefix}/"), "pip install '{}'")
    return way.format(f"{source}[{extra}]")


def _source() -> str:
    """The checkout or the wheel that was installed, where it is still there; else the name on the package index.

    PEP 610: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        url = urlsplit(json.loads(distribution(NAME).read_text("direct_url.json") or "{}").get("url", ""))
    except (PackageNotFoundError, OSError, ValueError, AttributeError):
        return NAME
    path = unquote(url.path)
    return path if url.scheme == "file" and "'" not in path and os.path.exists(path) else NAME
