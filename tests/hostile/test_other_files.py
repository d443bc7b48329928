"""Expectations, samples, reports of fleets and logs of strangers: refused in a sentence, or read harmlessly."""

import contextlib
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from gpudoctor import check, demo
from gpudoctor.monitor.replay import RecordingError, Replay, read
from gpudoctor.report.renderers.json import render as as_json
from gpudoctor.report.sanitize import clean
from gpudoctor.sampling.lines import SampleLine
from tests.checks import smoke_machines
from tests.hostile.consumers import metrics, one_json, page, terminal
from tests.hostile.mutations import FLOATS, INTEGERS, TEXTS, mutated, written
from tests.hostile.running import batches, held, judged
from tests.machines.registry import machines
from tests.symptoms.samples import SAMPLES

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def reports() -> list[Any]:
    made = [one.make() for one in machines()[::9]] + [demo.load("bad-link"), smoke_machines.machine()]
    return [json.loads(as_json(check(facts=facts))) for facts in made]


def table(text: str) -> None:
    """A spreadsheet: rows of one width, and no cell that is a formula."""
    terminal(text.replace("\r", ""))
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


FACES: dict[str, Callable[[str], object]] = {
    "text": terminal,
    "json": one_json,
    "html": lambda text: page(text, scripts=2),
    "prometheus": metrics,
    "csv": table,
}


@pytest.mark.parametrize("batch", batches())
def test_reports_of_a_fleet(reports: list[Any], batch: int, tmp_path: Path) -> None:
    random = Random(batch)
    folder = tmp_path / "reports"
    folder.mkdir()
    names = ["node1", "<b>x", "a b", "-n", "n\u202e", "=cmd", "$(touch x)", "'", "n;m", "%n"]
    for number, name in enumerate(names):
        data = written(mutated(random.choice(reports), random), random) if number else json.dumps(reports[0]).encode()
        (folder / f"{name}.json").write_bytes(data)
    for form, reader in FACES.items():
        held(("fleet", "report", str(folder), "--format", form, "--all"), reader)
    held(("fleet", "merge", str(folder), "-o", str(tmp_path / "all.jsonl")), sentences=99)
    held(("fleet", "report", str(tmp_path / "all.jsonl"), "--format", "json"), one_json)
    for name in names[1:4]:
        held(("diff", str(folder / f"{name}.json"), str(folder / "node1.json"), "--all"))
        held(("diff", str(folder / "node1.json"), str(folder / f"{name}.json"), "--json"), one_json)


@pytest.mark.parametrize("batch", batches())
def test_summaries_of_a_fleet(reports: list[Any], batch: int, tmp_path: Path) -> None:
    folder, kept = tmp_path / "reports", tmp_path / "kept.json"
    folder.mkdir()
    for number, report in enumerate(reports[:4]):
        (folder / f"node{number}.json").write_text(json.dumps(report))
    summary = json.loads(held(("fleet", "report", str(folder), "--json"), one_json).out)
    for seed in range(batch * 5, batch * 5 + 5):
        random = Random(seed)
        kept.write_bytes(written(mutated(summary, random), random))
        for form, reader in FACES.items():
            held(("fleet", "report", str(kept), "--format", form), reader)
        held(("fleet", "report", str(folder), "--since", str(kept)))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("good") / "facts.json"
    path.write_bytes(msgspec.json.encode(demo.load("bad-link")))
    return str(path)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else str(value)


def expectations(text: str, random: Random) -> bytes:
    """A file of expectations with some of its lines changed."""
    lines = text.splitlines()
    for _ in range(random.choice([1, 2, 6])):
        at = random.randrange(len(lines))
        name, _, value = lines[at].partition(" = ")
        new = _toml(random.choice([*TEXTS[:120], *INTEGERS[:20], *FLOATS, True, "inf", "nan"]))
        lines[at] = random.choice(
            [f"{name} = {new}", f"{new} = {value}", f"[expect.{new}]", f"{name} = [{new}, {new}]", new, value,
             f"{name} = {{x = {new}}}", lines[at] + lines[at], f"{name} = nan", f"{name} = {'[' * 900}"]
        )  # fmt: skip
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("batch", batches())
def test_expectations(good: str, batch: int, tmp_path: Path) -> None:
    text = held(("record", "--facts", good, "--force")).out
    path = tmp_path / "gpudoctor.toml"
    for seed in range(batch * 10, batch * 10 + 10):
        path.write_bytes(expectations(text, Random(seed)))
        path.chmod(0o600)
        held(("check", "--facts", good, "--expect", str(path), "--json"), judged)


def lines_of(random: Random) -> bytes:
    """A recording with some of its lines changed."""
    text = (DOCS / "samples.md").read_text().partition("```json\n")[2].partition("```")[0]
    lines = [line.encode() for line in text.splitlines()]
    for _ in range(random.choice([1, 2, 5])):
        at = random.randrange(1, len(lines))
        with contextlib.suppress(ValueError, RecursionError):
            lines[at] = written(mutated(json.loads(lines[at]), random), random)
    return b"\n".join(lines)


def played(data: bytes) -> tuple[tuple[SampleLine, ...], str]:
    """The lines of a recording, or the sentence that refuses it."""
    try:
        return read(data), ""
    except RecordingError as error:
        return (), str(error)


@pytest.mark.parametrize("batch", batches())
def test_recorded_samples(batch: int) -> None:
    for seed in range(batch * 20, batch * 20 + 20):
        found, said = played(lines_of(Random(seed)))
        assert clean(said).count("\n") == 0
        assert not said or said.endswith(".")
        now = [0.0]
        replay = Replay(found, lambda now=now: now[0])  # type: ignore[misc]
        replay.start()
        for later in (0.0, 1.0, 1e6):
            now[0] += later
            assert replay.look().devices is not None


@pytest.mark.parametrize("batch", batches())
def test_logs(good: str, batch: int, tmp_path: Path) -> None:
    said = [line for sample in SAMPLES for line in sample.log.splitlines()]
    log = tmp_path / "log"
    for seed in range(batch * 5, batch * 5 + 5):
        random = Random(seed)
        lines = [random.choice(said) for _ in range(20)]
        for at in random.sample(range(20), 5):
            words = lines[at].split(" ")
            words[random.randrange(len(words))] = random.choice(TEXTS)
            lines[at] = " ".join(words)
        log.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        held(("explain", "--facts", good, "--log", str(log), "--json"), judged)
        held(("explain", "--facts", good, "--log", str(log)))
