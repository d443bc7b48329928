"""A bundle becomes a test machine: its facts and a row, or one sentence and no change."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gpudoctor
from gpudoctor import demo
from gpudoctor.facts.facts_file import load
from gpudoctor.pipeline import check
from gpudoctor.privacy.masks import masked
from scripts import add_case
from tests.cli import gpudoctor as program
from tests.machines import recorded
from tests.machines.recorded import Row

DEMOS = Path(gpudoctor.__file__).parent / "demo"
CAUSES = {
    "mismatch": "driver.library-mismatch",
    "cpu-wheel": "pytorch.cpu-build",
    "bad-link": "smoke.link-trained-down",
}


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """A corpus without a machine."""
    place = tmp_path / "machines"
    (place / "recorded").mkdir(parents=True)
    (place / "recorded.toml").write_text("# Machines.\n")
    return place


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A bundle of each demo, made by the program itself."""
    place = tmp_path_factory.mktemp("bundles")
    for name in demo.DEMOS:
        program("bundle", str(place / f"{name}.tar.gz"), "--facts", str(DEMOS / f"{name}.json"))
    return {name: str(place / f"{name}.tar.gz") for name in demo.DEMOS}


@pytest.fixture
def bundle(bundles: dict[str, str]) -> str:
    """A bundle of the demo "mismatch"."""
    return bundles["mismatch"]


def packed(path: Path, *members: tuple[tarfile.TarInfo | str, bytes]) -> str:
    """A .tar.gz of these members."""
    with tarfile.open(path, "w:gz") as archive:
        for member, data in members:
            one = tarfile.TarInfo(member) if isinstance(member, str) else member
            one.size = len(data)
            archive.addfile(one, io.BytesIO(data))
    return str(path)


def link(name: str, to: str) -> tarfile.TarInfo:
    """A symbolic link."""
    one = tarfile.TarInfo(name)
    one.type, one.linkname = tarfile.SYMTYPE, to
    return one


@pytest.mark.parametrize("name", demo.DEMOS)
def test_a_right_diagnosis_is_held_as_it_is(
    name: str, bundles: dict[str, str], into: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [bundles[name], "--name", "one", "--cause", CAUSES[name], "--hardware", "RTX 5090"]
    assert add_case.main([*argv, "--source", "https://example.org/1", "--into", str(into)]) == 0
    (row,) = recorded.rows(into)
    report = check(facts=demo.load(name))
    assert (row.cause, row.status) == (CAUSES[name], report.findings[0].status)
    assert row.effects == recorded.effects(report.findings[0])
    assert (row.month, row.hardware, row.source) == (demo.load(name).created[:7], "RTX 5090", "https://example.org/1")
    assert recorded.facts(row, into) == masked(demo.load(name))
    assert recorded.wrong(row, check(facts=recorded.facts(row, into))) == []
    said = capsys.readouterr().out
    assert f"today     {row.cause} ({row.status}): {report.findings[0].message}" in said
    assert "gpudoctor is right about this machine" in said
    assert "pytest -n 0 'tests/machines/test_recorded.py::test_the_verdict[one]'" in said


def test_a_wrong_diagnosis_is_a_test_that_fails(bundle: str, into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [bundle, "--name", "two", "--cause", "driver.not-loaded", "--not", "driver.library-mismatch"]
    assert add_case.main([*argv, "--fix", "modprobe", "--into", str(into)]) == 0
    (row,) = recorded.rows(into)
    assert (row.status, row.effects, row.never, row.fix) == ("", None, ("driver.library-mismatch",), "modprobe")
    faults = recorded.wrong(row, check(facts=recorded.facts(row, into)))
    assert faults == [
        "driver.library-mismatch is reported, and must not be.",
        "The first finding should be driver.not-loaded, and is driver.library-mismatch.",
    ]
    said = capsys.readouterr().out
    assert "expected  driver.not-loaded" in said
    assert all(fault in said for fault in faults)
    assert (into / "recorded.toml").read_text().startswith("# Machines.\n\n[[machine]]\n")


def test_a_dry_run_writes_nothing(bundle: str, into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [bundle, "--name", "three", "--cause", "none", "--dry-run", "--into", str(into)]
    assert add_case.main(argv) == 0
    assert recorded.rows(into) == ()
    assert not list((into / "recorded").iterdir())
    assert "The machine is healthy, and gpudoctor reports driver.library-mismatch." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "faults"),
    [
        ({"status": "fail", "fix": "reboot"}, []),
        ({"status": "warn"}, ["driver.library-mismatch should be of status warn, and is fail."]),
        ({"effects": ("driver.nvml-error",), "status": "fail"}, ["Its effects should be driver.nvml-error, and are "]),
        ({"effects": ()}, ["Its effects should be none, and are "]),
        ({"fix": "modprobe"}, ["Its first fix should contain 'modprobe', and is "]),
        ({"never": ("pytorch.no-gpu",)}, []),
        ({"cause": "none"}, ["The machine is healthy, and gpudoctor reports driver.library-mismatch."]),
    ],
)
def test_what_a_row_holds(row: dict[str, Any], faults: list[str]) -> None:
    one = Row(**{"name": "x", "month": "", "cause": "driver.library-mismatch", **row})
    found = recorded.wrong(one, check(facts=demo.load("mismatch")))
    assert [fault[: len(wanted)] for fault, wanted in zip(found, faults, strict=True)] == faults


def test_a_machine_about_which_nothing_is_reported() -> None:
    silent = msgspec.structs.replace(check(facts=demo.load("mismatch")), findings=())
    assert recorded.wrong(Row(name="x", month="", cause="a.b"), silent) == [
        "The first finding should be a.b, and there is none."
    ]
    assert recorded.wrong(Row(name="x", month="", cause="none"), silent) == []


FACTS = json.loads((DEMOS / "mismatch.json").read_text())
NAMED = {**FACTS, "host": {**FACTS["host"], "hostname": "ada-workstation"}}
NEWER = {**FACTS, "schema": "gpudoctor.facts/2"}
MANY = {**FACTS, "pythons": FACTS["pythons"] * 20}


def of(facts: Any) -> tuple[str, bytes]:
    return "gpudoctor/facts.json", json.dumps(facts).encode()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: str(p / "no.tar.gz"), "{} cannot be read: No such file or directory."),
        (lambda p: str(p), "{} cannot be read: Is a directory."),
        (lambda p: str(DEMOS / "mismatch.json"), "{} is not a bundle: it is not a .tar.gz file."),
        (lambda p: packed(p / "b", ("gpudoctor/report.txt", b"x")), "{} is not a bundle: it has no gpudoctor/facts.js"),
        (lambda p: packed(p / "b", ("../facts.json", b"{}")), "{} is not a bundle: gpudoctor never packs '../facts.js"),
        (lambda p: packed(p / "b", ("/etc/passwd", b"x"), of(FACTS)), "{} is not a bundle: gpudoctor never packs '/e"),
        (lambda p: packed(p / "b", ("gpudoctor/../../x", b"x"), of(FACTS)), "{} is not a bundle: gpudoctor never pack"),
        (lambda p: packed(p / "b", (link("gpudoctor/facts.json", "/etc/shadow"), b"")), "{} is not a bundle: gpudoct"),
        (lambda p: packed(p / "b", of([])), "The facts file {}:gpudoctor/facts.json is not valid: "),
        (lambda p: packed(p / "b", of(NEWER)), "The facts file {}:gpudoctor/facts.json has the schema 'gpudoctor.fac"),
        (lambda p: packed(p / "b", of(NAMED)), "{} names its host and its user: ask for a bundle that was made withou"),
        (lambda p: packed(p / "b", of(MANY)), "The facts of {} are larger than 256 KiB, most of it 'pythons'."),
        (lambda p: cut(p, 2000), "{} is damaged: it ends too early, or was changed on its way."),
        (lambda p: changed(p), "{} is damaged"),
        (lambda p: zipped(p / "b", b"no tar at all" * 99), "{} is damaged, or not a bundle: "),
        (lambda p: zipped(p / "b", bytes(65 << 20)), "{} is not a bundle: it unpacks to more than 64 MiB."),
    ],
)
def test_what_is_no_bundle(
    make: Callable[[Path], str], sentence: str, tmp_path: Path, into: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path)
    refused([path, "--cause", "driver.not-loaded"], into, sentence.replace("{}", path), capsys)


def zipped(path: Path, data: bytes) -> str:
    path.write_bytes(gzip.compress(data))
    return str(path)


def cut(place: Path, length: int) -> str:
    path = Path(packed(place / "whole", of(FACTS)))
    path.write_bytes(path.read_bytes()[:length])
    return str(path)


def changed(place: Path) -> str:
    path = Path(packed(place / "whole", of(FACTS)))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cause", "driver.not-loadet"], "There is no check driver.not-loadet; did you mean driver.not-loaded?"),
        (["--cause", "zzz"], "There is no check zzz."),
        (["--cause", "none", "--not", "a.b"], "There is no check a.b."),
        (["--cause", "driver.not-loaded", "--effect", "x"], "There is no check x."),
        (["--cause", "none", "--fix", "x"], "--cause none is a healthy machine: "),
        (["--cause", "none", "--name", "../x"], "--name '../x': lower-case words"),
        (["--cause", "none", "--source", "http://x"], "--source 'http://x': an address that begins with https://."),
        (["--cause", "driver.not-loaded", "--not", "driver.not-loaded"], "driver.not-loaded cannot be both"),
    ],
)
def test_what_cannot_be_a_row(
    words: list[str], sentence: str, bundle: str, into: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused([bundle, *words], into, sentence, capsys)


def test_a_name_that_is_taken(bundle: str, into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add_case.main([bundle, "--name", "x", "--cause", "none", "--into", str(into)]) == 0
    capsys.readouterr()
    refused([bundle, "--cause", "none"], into, "There is a machine x; take another --name.", capsys)


def test_a_bundle_that_was_not_masked(tmp_path: Path, into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "facts.json").write_text(json.dumps(NAMED))
    path = str(tmp_path / "b.tar.gz")
    program("bundle", path, "--facts", str(tmp_path / "facts.json"), "--no-mask")
    refused([path, "--cause", "none"], into, f"{path} names its host and its user: ", capsys)


def test_what_was_left_unmasked_is_masked_again(tmp_path: Path, into: Path) -> None:
    environment = {
        **FACTS["host"]["environment"],
        "LD_LIBRARY_PATH": "/home/ada/lib",
        "CUDA_HOME": "hf_abcdefghijklmnop",
    }
    facts = {**FACTS, "host": {**FACTS["host"], "environment": environment}}
    path = packed(tmp_path / "b", of(facts))
    assert add_case.main([path, "--name", "x", "--cause", "none", "--into", str(into)]) == 0
    text = (into / "recorded/x.json").read_text()
    assert "/home/ada" not in text
    assert "hf_abcdefghijklmnop" not in text
    assert load(text.encode()) == masked(load(text.encode()))


def refused(argv: list[str], into: Path, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence on standard error, and no file is another than before."""
    before = {path: path.read_bytes() for path in into.rglob("*") if path.is_file()}
    named = [] if "--name" in argv else ["--name", "x"]
    assert add_case.main([*argv, *named, "--into", str(into)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(sentence)
    assert said.err.count("\n") == 1
    assert {path: path.read_bytes() for path in into.rglob("*") if path.is_file()} == before
