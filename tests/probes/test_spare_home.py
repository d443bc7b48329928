"""An import finds the packages it would find at home, and leaves nothing there."""

import os
from pathlib import Path

import pytest

from gpudoctor.probes.temp_home import spare_home


def test_the_folder_is_there_for_the_import_and_gone_afterwards(tmp_path: Path) -> None:
    with spare_home({"HOME": str(tmp_path), "A": "1"}) as env:
        folder = env["HOME"]
        assert os.path.isdir(folder)
        assert env["A"] == "1"
        assert env["PYTHONUSERBASE"] == str(tmp_path / ".local")
        assert env["XDG_CACHE_HOME"] == os.path.join(folder, ".cache")
        assert env["TMPDIR"] == folder
        assert "KERAS_HOME" not in env
        Path(folder, "left").write_text("something")
    assert not os.path.exists(folder)
    assert list(tmp_path.iterdir()) == []


def test_settings_that_are_there_are_read(tmp_path: Path) -> None:
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text("{}")
    with spare_home({"HOME": str(tmp_path), "PYTHONUSERBASE": "/opt/me"}) as env:
        assert (env["KERAS_HOME"], env["PYTHONUSERBASE"]) == (str(tmp_path / ".keras"), "/opt/me")


def test_without_a_place_for_it_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with spare_home({"HOME": "/home/me"}) as env:
        assert env == {"HOME": "/home/me"}
