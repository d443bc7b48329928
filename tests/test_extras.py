"""How an extra is added, by where gpudoctor is installed."""

from pathlib import Path

import pytest

from gpudoctor.extras import install_command

ROOT = Path(__file__).resolve().parents[1]


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
    assert install_command("numpy", prefix, "gpudoctor-cli") == command


def test_before_it_is_published_the_checkout_or_the_wheel_is_named(tmp_path: Path) -> None:
    """The tests run in a checkout that is installed as editable."""
    assert install_command("fleet", "/home/ada/.venv") == f"pip install '{ROOT}[fleet]'"
    wheel = tmp_path / "gpudoctor_cli-0.1.0-py3-none-any.whl"
    assert install_command("fleet", "/home/ada/.venv", str(wheel)) == f"pip install '{wheel}[fleet]'"
