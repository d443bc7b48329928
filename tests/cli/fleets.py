"""What a run over many machines has left in its folder, TMP/run."""

import json
from pathlib import Path

from gpudoctor.fleet.runner.ledger import read


def states(tmp_path: Path) -> dict[str, str]:
    return {node: entry.state for node, entry in read(str(tmp_path / "run" / "ledger.jsonl")).items()}


def reports(tmp_path: Path) -> set[str]:
    return {file.name for file in (tmp_path / "run" / "reports").iterdir()}


def asked(tmp_path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((tmp_path / "run" / "run.json").read_text())
    return found
