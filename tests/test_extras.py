"""How an extra is added, by where gpudoctor is installed."""

import pytest

import gpudoctor.fleet.nodesets
from gpudoctor.extras import install_command


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/ada/project/.venv", "pip install 'gpudoctor-cli[numpy]'"),
        ("/home/ada/.local/share/uv/tools/gpudoctor-cli", "uv tool install 'gpudoctor-cli[numpy]'"),
        ("/home/ada/.cache/uv/archive-v0/mX2", "uvx --from 'gpudoctor-cli[numpy]' gpudoctor"),
        ("/home/ada/.local/share/pipx/venvs/gpudoctor-cli", "pipx install --force 'gpudoctor-cli[numpy]'"),
        ("/home/ada/.local/pipx/.cache/9a1", "pipx run --spec 'gpudoctor-cli[numpy]' gpudoctor"),
    ],
)
def test_the_command_fits_how_gpudoctor_was_installed(prefix: str, command: str) -> None:
    assert install_command("numpy", prefix) == command


def test_the_other_extras_are_named_so_too() -> None:
    assert install_command("fleet") in gpudoctor.fleet.nodesets.NO_LIBRARY
