"""The formats of a fleet's summary: their names, who reads them, and where each is written."""

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.fleet.summary import Fleet


class FleetFormat(NamedTuple):
    """One format.

    Attributes:
        name: as `--format` takes it; its module is gpudoctor.fleet.renderers.NAME.
        reader: who reads it.
        leaves: whether it is made to be handed on: then names of people and their directories are masked by default.
            Names of nodes stay: they are the answer.
        binary: whether it is bytes and no text.
    """

    name: str
    reader: str
    leaves: bool = False
    binary: bool = False

    def pieces(self, fleet: Fleet) -> Iterator[str | bytes]:
        """What is written, whole or a piece at a time where all of it might be large."""
        from importlib import import_module

        module = import_module(f"gpudoctor.fleet.renderers.{self.name}")
        if hasattr(module, "pieces"):
            yield from module.pieces(fleet)
        else:
            yield module.render(fleet)


FORMATS = {
    one.name: one
    for one in (
        FleetFormat("text", "terminal"),
        FleetFormat("json", "programs: gpudoctor.fleet/1"),
        FleetFormat("html", "browser", leaves=True),
        FleetFormat("prometheus", "node_exporter's textfile collector"),
        FleetFormat("csv", "spreadsheets and scripts: one row per node"),
        FleetFormat("parquet", "DuckDB, pandas, Spark: one row per node", binary=True),
    )
}
