"""How an optional extra is added to gpudoctor, in the way in which it was installed."""

import sys

# What the prefix of an environment holds, and what adds an extra to a tool in it.
WAYS = {
    "/uv/tools/": "uv tool install '{}'",
    "/archive-v0/": "uvx --from '{}' gpudoctor",
    "/environments-v2/": "uvx --from '{}' gpudoctor",
    "/pipx/venvs/": "pipx install --force '{}'",
    "/pipx/.cache/": "pipx run --spec '{}' gpudoctor",
}


def install_command(extra: str, prefix: str = sys.prefix) -> str:
    """The command that adds an extra.

    Args:
        extra: its name in pyproject.toml.
        prefix: the environment that gpudoctor is in.
    """
    way = next((way for place, way in WAYS.items() if place in f"{prefix}/"), "pip install '{}'")
    return way.format(f"gpudoctor-cli[{extra}]")
