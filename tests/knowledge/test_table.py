"""Every table parses, fits its type, and says where its entries come from."""

import importlib
import re
from pathlib import Path

import msgspec
import pytest

import gpudoctor.knowledge
from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.toml import tomllib

HERE = Path(gpudoctor.knowledge.__file__).parent
TABLES = sorted(path.stem for path in HERE.glob("*.toml"))


def _parse(name: str) -> dict[str, object]:
    return tomllib.loads((HERE / f"{name}.toml").read_text())


def test_there_are_tables() -> None:
    assert {"drivers", "generations", "kernel_log", "packages", "pci_ids", "rocm", "torch"} <= set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_when_and_from_where(name: str) -> None:
    table = msgspec.convert({k: v for k, v in _parse(name).items() if k in ("meta", "source")}, KnowledgeTable)
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", table.meta.collected)
    assert table.meta.confidence
    assert table.source
    for source in table.source:
        assert re.match(r"20\d\d", source.date), source.id
        assert source.url.startswith("https://") or re.fullmatch(r"[\w.-]+/[\w.-]+", source.repo), source.id


@pytest.mark.parametrize("name", TABLES)
def test_source_ids_are_unique(name: str) -> None:
    ids = [s.id for s in msgspec.convert(_parse(name)["source"], list[gpudoctor.knowledge.table.TableSource])]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", sorted(p.stem for p in HERE.glob("*.py")))
def test_every_module_has_one_sentence_that_says_its_job(path: str) -> None:
    name = "gpudoctor.knowledge" if path == "__init__" else f"gpudoctor.knowledge.{path}"
    assert (importlib.import_module(name).__doc__ or "").strip().endswith(".")


def test_an_entry_that_the_type_does_not_know_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        load("drivers", KnowledgeTable)


def test_a_table_that_does_not_exist_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        load("nothing", KnowledgeTable)


class _Small(KnowledgeTable, frozen=True):
    word: str


SMALL = (
    'word = "{}"\n[meta]\ncollected = "2026-11"\nconfidence = "high"\n[[source]]\nid = "a"\nwhat = "b"\ndate = "2026"\n'
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of a checkout of its own, read once."""
    monkeypatch.setattr("gpudoctor.knowledge.table.__file__", str(tmp_path / "table.py"))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "small.toml").write_text(SMALL.format("one"))
    assert load("small", _Small).word == "one"
    return tmp_path


def test_a_table_that_was_edited_is_read_again(small: Path) -> None:
    (small / "small.toml").write_text(SMALL.format("another"))
    assert load("small", _Small).word == "another"


def test_a_table_is_parsed_once(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("parsed again"))
    assert load("small", _Small).word == "one"
    assert [kept.name for kept in (small / "__pycache__").iterdir()] == ["small.toml.json"]


@pytest.mark.parametrize("rest", [b"", b'{"word": "o', b"\0" * 99, b"[]", b"{}", b'{"word": "\xff"}'])
def test_a_damaged_copy_is_made_again(small: Path, rest: bytes) -> None:
    kept = small / "__pycache__" / "small.toml.json"
    whole = kept.read_bytes()
    kept.write_bytes(whole.partition(b"\n")[0] + b"\n" + rest)
    assert load("small", _Small).word == "one"
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("folder", [True, False])
def test_where_nothing_can_be_kept_it_is_parsed(small: Path, folder: bool) -> None:
    kept = small / "__pycache__" / "small.toml.json"
    kept.unlink()
    if folder:
        kept.mkdir()
    else:
        kept.parent.rmdir()
    assert load("small", _Small).word == "one"
