"""What a node of a fleet is held against: the site's files that lie there, and the files that were sent."""

from pathlib import Path

import pytest

from gpudoctor.expect import ExpectFileError
from gpudoctor.expect.discovery import of_node
from tests.expect import one


@pytest.fixture
def site(tmp_path: Path) -> str:
    """The root of a node with one file of its site."""
    folder = tmp_path / "etc/gpudoctor/expect.d"
    folder.mkdir(parents=True)
    (folder / "site.toml").write_text(one("gpus", "count=8"))
    (folder / "site.toml").chmod(0o644)
    return str(tmp_path)


def test_nothing_is_expected_where_nobody_says_so(tmp_path: Path) -> None:
    assert of_node(root=str(tmp_path)) == ()


def test_the_sites_files_and_those_that_were_sent(site: str) -> None:
    found = of_node([("ours.toml", one("gpus", "count=4")), ("more.toml", one("host.cpus", "at_least=2"))], site)
    assert [one.id for one in found] == ["expect.gpus", "expect.gpus-2", "expect.host-cpus"]
    assert [one.place.rpartition("/")[2] for one in found] == ["site.toml:1", "ours.toml:1", "more.toml:1"]


def test_no_file_of_the_working_directory_is_read(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpudoctor.toml").write_text("this is none")
    monkeypatch.chdir(tmp_path)
    assert [one.id for one in of_node(root=site)] == ["expect.gpus"]


def test_a_text_that_cannot_be_used_is_told_with_its_place() -> None:
    with pytest.raises(ExpectFileError, match=r"ours\.toml:2: gpus: "):
        of_node([("ours.toml", one("gpus", "count='x'"))], "/proc/none")
