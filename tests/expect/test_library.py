"""Expectations from a script: check(expect=...) and record()."""

from pathlib import Path

import pytest

import gpudoctor
from tests.builders import change, framework, live, with_framework
from tests.checks import healthy_nvidia as nv
from tests.expect import one

NODE = nv.hgx(nv.H100, 4)


def test_what_is_recorded_holds(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(gpudoctor.record(NODE))
    path.chmod(0o644)
    assert gpudoctor.check(facts=NODE, expect=str(path)).ok
    report = gpudoctor.check(facts=change(NODE, "gpus.2.link_width_max", 8), expect=[str(path)])
    with pytest.raises(gpudoctor.FailuresError, match="found 8 \\(GPU 2\\)"):
        report.raise_for_failures()


def test_expectations_come_beside_wishes(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(one("gpus", "count=16"))
    path.chmod(0o644)
    report = gpudoctor.check(None, gpudoctor.CheckOptions(only=("expect",)), NODE, expect=str(path))
    assert [entry.check for entry in report.findings] == ["expect.gpus"]


def test_no_file_is_read_that_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpudoctor.toml").write_text(one("gpus", "count=16"))
    monkeypatch.chdir(tmp_path)
    assert gpudoctor.check(facts=NODE).ok


def test_errors_are_public(tmp_path: Path) -> None:
    with pytest.raises(gpudoctor.ExpectFileError):
        gpudoctor.check(facts=NODE, expect=str(tmp_path / "none.toml"))
    ill = with_framework(framework(cuda=None, variant="cpu", live=live(0)))
    with pytest.raises(gpudoctor.RecordError) as caught:
        gpudoctor.record(ill)
    assert caught.value.report.status == "fail"
    assert "NOT known to be healthy" in gpudoctor.record(ill, force=True)
