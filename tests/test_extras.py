"""How an extra is added, by where gpudoctor is installed."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.extras import install_command

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/ada/project/.venv", f"{sys.executable} -m pip install 'gpudoctor-cli[numpy]'"),
        ("/home/ada/.local/share/uv/tools/gpudoctor-cli", "uv tool install '{}'"),
        ("/home/ada/.cache/uv/archive-v0/mX2", "uvx --from '{}' gpudoctor"),
        ("/home/ada/.local/share/pipx/venvs/gpudoctor-cli", "pipx install --force '{}'"),
        ("/home/ada/.local/pipx/.cache/9a1", "pipx run --spec '{}' gpudoctor"),
    ],
)
@pytest.mark.parametrize("url", [None, "file:///home/ada/gpudoctor"])
def test_the_command_fits_how_gpudoctor_was_installed(
    prefix: str, command: str, url: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From where it came, as pip and uv note it: no package index has a checkout."""
    info = tmp_path / "gpudoctor_cli-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gpudoctor-cli\nVersion: 0.1.0\n")
    if url:
        (info / "direct_url.json").write_text(f'{{"dir_info": {{}}, "url": "{url}"}}')
    monkeypatch.syspath_prepend(str(tmp_path))
    name = "gpudoctor-cli[numpy]" + (f" @ {url}" if url else "")
    assert install_command("numpy", prefix) == command.format(name)


def test_the_command_adds_the_extra_without_an_index() -> None:
    words = [*shlex.split(install_command("numpy")), "--dry-run", "--no-index", "--quiet"]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
