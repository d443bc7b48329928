"""How an optional extra is added to gpudoctor, in the way in which it was installed."""

import shlex
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


def install_command(extra: str, prefix: str = sys.prefix) -> str:
    """The command that adds an extra; it works from a checkout or a wheel as well, which no package index has.

    Args:
        extra: its name in pyproject.toml.
        prefix: the environment that gpudoctor is in.
    """
    name = f"{NAME}[{extra}]"
    way = next((way for place, way in WAYS.items() if place in f"{prefix}/"), None)
    if way is None:  # pip takes the release that is installed, and adds what the extra requires
        return f"{shlex.quote(sys.executable)} -m pip install '{name}'"
    url = _origin()
    return way.format(f"{name} @ {url}" if url else name)


def _origin() -> str | None:
    """The address from which gpudoctor was installed; None: a package index, or it is not installed.

    https://packaging.python.org/en/latest/specifications/direct-url/
    """
    import json
    from importlib import metadata

    try:
        found = json.loads(metadata.distribution(NAME).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    url = found.get("url") if isinstance(found, dict) else None
    return url if isinstance(url, str) else None
