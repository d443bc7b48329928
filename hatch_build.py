"""Puts the tables of gpudoctor.knowledge into the wheel as JSON, which is read in a tenth of the time of TOML."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLES = Path("gpudoctor", "knowledge")


class TablesHook(BuildHookInterface):  # type: ignore[type-arg] # generic in some releases of hatchling alone
    """The hook; an editable installation reads the TOML files themselves."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write each table as JSON and have it included."""
        if version != "standard":
            return
        self.made = tempfile.TemporaryDirectory()  # until the hook is gone
        for table in Path(self.root, TABLES).glob("*.toml"):
            path = Path(self.made.name, f"{table.stem}.json")
            entries = tomllib.loads(table.read_text(encoding="utf-8"))
            path.write_text(json.dumps(entries, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
            build_data["force_include"][str(path)] = str(TABLES / path.name)
