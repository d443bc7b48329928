"""`gpudoctor bundle`: one file for a bug report, masked, closed to others, the same bytes for the same facts."""

import gzip
import io
import json
import os
import stat
import tarfile
from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli.bundle_archive import archive, kernel_lines, parts, versions
from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import load
from gpudoctor.facts.kernel_log import KernelLog, LogEvent
from gpudoctor.maybe import Unknown
from gpudoctor.report.model import Report
from tests.builders import change, nvidia_host, python
from tests.cli import gpudoctor
from tests.cli.conftest import Run

NAMES = ["facts.json", "kernel.log", "report.json", "report.md", "report.txt", "versions.txt"]


def unpacked(path: Path) -> dict[str, str]:
    with tarfile.open(path) as held:
        members = held.getmembers()
        assert all(m.isfile() and m.mode == 0o600 and (m.uid, m.gid, m.uname) == (0, 0, "") for m in members)
        return {m.name.removeprefix("gpudoctor/"): _text(held, m) for m in members}


def _text(held: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    found = held.extractfile(member)
    assert found is not None
    return found.read().decode()


@pytest.fixture
def alices(tmp_path: Path) -> str:
    facts = change(change(nvidia_host(), "host.hostname", "gpu-node-7"), "host.user.name", "alice")
    facts = change(facts, "host.environment", {"CUDA_HOME": "/data/alice/cuda", "X": "hf_abcdefghijklmnop"})
    facts = change(facts, "pythons", (python(path="/home/alice/env/bin/python"),))
    events = (LogEvent(kind="xid", text="NVRM: Xid (PCI:0000:01:00): 79, name=alice", seconds=12.5, code=79),)
    facts = change(facts, "log", KernelLog(source="/dev/kmsg", events=events))
    path = tmp_path / "alice.json"
    path.write_bytes(msgspec.json.encode(change(facts, "created", "2026-11-21T03:00:00Z")))
    return str(path)


def test_what_it_holds(run: Run, alices: str, tmp_path: Path) -> None:
    path = tmp_path / "bug.tar.gz"
    ran = run("bundle", str(path), "--facts", alices)
    assert (ran.code, ran.err) == (0, "")
    held = unpacked(path)
    assert list(held) == NAMES
    assert all(f"gpudoctor/{name} " in ran.out for name in NAMES)
    assert ran.out.startswith(f"{path}: {path.stat().st_size} bytes, readable only by you; ")
    everything = "\n".join(held.values())
    for word in ("alice", "gpu-node-7", "hf_abc"):
        assert word not in everything
    assert "[   12.500000] NVRM: Xid (PCI:0000:01:00): 79, name=user" in held["kernel.log"]
    facts = load(held["facts.json"].encode())
    again = tmp_path / "again.json"
    again.write_text(held["facts.json"])
    assert facts.host.hostname == "host"
    assert json.loads(held["report.json"]) == json.loads(run("check", "--facts", str(again), "--json").out)
    assert "\nkernel 6." in held["versions.txt"]


def test_only_its_owner_can_read_it(run: Run, alices: str, tmp_path: Path) -> None:
    path = tmp_path / "bug.tgz"
    before = os.umask(0)
    try:
        run("bundle", str(path), "--facts", alices)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["alice.json", "bug.tgz"]


def test_the_same_facts_give_the_same_bytes(run: Run, alices: str, tmp_path: Path) -> None:
    for name in ("one.tar.gz", "two.tar.gz"):
        assert run("bundle", str(tmp_path / name), "--facts", alices).code == 0
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as held:
        assert {member.mtime for member in held.getmembers()} == {1795230000}
    raw = gzip.decompress((tmp_path / "one.tar.gz").read_bytes())
    assert len(raw) % 512 == 0


def test_without_a_mask_secrets_stay_hidden(run: Run, alices: str, tmp_path: Path) -> None:
    path = tmp_path / "bug.tar.gz"
    assert "not masked" in run("bundle", str(path), "--facts", alices, "--no-mask").out
    everything = "\n".join(unpacked(path).values())
    assert "/home/alice/env" in everything
    assert "gpu-node-7" in everything
    assert "hf_abc" not in everything


def test_nothing_is_replaced_unless_told(run: Run, alices: str, tmp_path: Path) -> None:
    path = tmp_path / "bug.tar.gz"
    path.write_text("mine")
    assert run("bundle", str(path), "--facts", alices).sentence == f"{path} already exists; --force replaces it."
    assert path.read_text() == "mine"
    assert run("bundle", str(path), "--facts", alices, "--force").code == 0
    assert list(unpacked(path)) == NAMES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_no_link_is_followed(run: Run, alices: str, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "theirs").write_text("theirs")
    for name, target in (("a.tar.gz", "theirs"), ("b.tar.gz", "nowhere")):
        link = tmp_path / name
        link.symlink_to(target)
        reported = run("bundle", str(link), "--facts", alices, *more).sentence
        assert reported == f"{link} is a link; links are not followed."
        assert link.is_symlink()
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()


def test_a_name_laid_beforehand_is_not_written_through(
    run: Run, alices: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file beside it, in which the archive is written first, may be a link, should somebody guess its name."""
    monkeypatch.setattr("gpudoctor.facts.facts_file.os.urandom", bytes)
    (tmp_path / f"bug.tar.gz.{os.getpid()}-00000000.part").symlink_to("theirs")
    reported = run("bundle", str(tmp_path / "bug.tar.gz"), "--facts", alices).sentence
    assert reported.endswith("bug.tar.gz cannot be written: File exists.")
    assert not (tmp_path / "theirs").exists()


def test_what_is_no_place_for_it(run: Run, alices: str, tmp_path: Path) -> None:
    (tmp_path / "folder.tar.gz").mkdir()
    for name, words in (
        ("bug.zip", "{}: a bundle's name must end in .tar.gz."),
        ("folder.tar.gz", "{} is not a file."),
        ("none/bug.tar.gz", "{} cannot be written: no such directory: {folder}/none."),
    ):
        path = str(tmp_path / name)
        assert run("bundle", path, "--facts", alices).sentence == words.format(path, folder=tmp_path)


def test_the_kernels_lines() -> None:
    assert (
        kernel_lines(change(Facts(), "log.events", Unknown("dmesg: \x1b closed"))) == "# unknown: dmesg: \\x1b closed\n"
    )
    assert kernel_lines(change(Facts(), "log.events", ())) == "# from nowhere, 0 relevant lines\n"


def test_versions_say_what_is_not_known() -> None:
    lines = versions(Facts()).splitlines()
    assert "kernel unknown: not gathered" in lines
    assert "ROCm none" in versions(change(Facts(), "amd.rocm", None)).splitlines()


def test_an_archive_of_facts_without_a_time() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive(parts(Facts(), Report()), ""))) as held:
        assert {member.mtime for member in held.getmembers()} == {0}


def test_this_machine(tmp_path: Path) -> None:
    ran = gpudoctor("bundle", "bug.tar.gz", "--quick", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert list(unpacked(tmp_path / "bug.tar.gz")) == NAMES
