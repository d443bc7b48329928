"""Editable installations whose directory is gone."""

import json
import os
from pathlib import Path

import pytest

from gpudoctor.facts import LostCheckout
from gpudoctor.probes.python import probe
from tests.probes.environments import distribution, machine, venv


def linked(site: Path, name: str, version: str, origin: object, link: str = "__editable__.{}.pth") -> None:
    """Lay an installation that is a link, as pip and setuptools do."""
    place = distribution(site, name, version)
    (place / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin))
    if link:
        (site / link.format(name)).write_text("/somewhere\n")


def origin(folder: Path, editable: bool = True) -> dict[str, object]:
    return {"url": folder.as_uri(), "dir_info": {"editable": editable}}


def lost(folder: Path) -> tuple[LostCheckout, ...]:
    return probe(machine(), str(folder / "bin" / "python"), "--python", quick=True, gpu=False).lost_checkouts


def test_one_that_was_deleted_with_what_needs_it(tmp_path: Path) -> None:
    site = venv(tmp_path / "env")
    linked(site, "accelerate", "1.12.0", origin(tmp_path / "my code" / "accelerate"))
    distribution(site, "trl", "0.25.0", requires=("accelerate>=1.4", "torch"))
    distribution(site, "rich", "14.0", requires=("accelerate",))
    assert lost(tmp_path / "env") == (
        LostCheckout(
            package="accelerate",
            version="1.12.0",
            folder=str(tmp_path / "my code" / "accelerate"),
            needed_by=("trl",),
        ),
    )


@pytest.mark.parametrize("case", ["there", "no editable one", "no link", "damaged", "another scheme"])
def test_what_is_none(tmp_path: Path, case: str) -> None:
    site, folder = venv(tmp_path / "env"), tmp_path / "accelerate"
    said: object = origin(folder, editable=case != "no editable one")
    if case == "there":
        folder.mkdir()
    if case == "damaged":
        said = '{"url": "file:///nowhere", "dir_info": ['
    if case == "another scheme":
        said = {"url": "git+https://example.org/accelerate", "dir_info": {"editable": True}}
    linked(site, "accelerate", "1.12.0", said, link="" if case == "no link" else "__editable__.{}.pth")
    assert lost(tmp_path / "env") == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every directory")
def test_a_directory_that_cannot_be_read_may_have_it(tmp_path: Path) -> None:
    site, private = venv(tmp_path / "env"), tmp_path / "private"
    private.mkdir()
    linked(site, "accelerate", "1.12.0", origin(private / "accelerate"))
    private.chmod(0)
    assert lost(tmp_path / "env") == ()
    private.chmod(0o700)
    assert [one.package for one in lost(tmp_path / "env")] == ["accelerate"]
