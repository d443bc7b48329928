"""Programs that use GPUs or prepare them for others, as the journal names them."""

from functools import cache

import msgspec

from gpudoctor.knowledge.symptoms import Symptom
from gpudoctor.knowledge.table import KnowledgeTable, load


class ServiceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row; the columns are explained in services.toml."""

    identifiers: tuple[str, ...]
    unit: str = ""
    started: str = ""
    works: str = ""
    also: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()

    def reports(self, row: Symptom) -> bool:
        """Whether a message that this program wrote names trouble with a GPU, and not what works all the same."""
        concerns = any(one.partition(".")[0] not in _OTHERS for one in row.checks)
        return row.id in (*self.also, *self.evidence) or (row.kind in _KINDS and concerns)


class ServicesTable(KnowledgeTable, frozen=True):
    """The table ``services.toml``."""

    service: tuple[ServiceEntry, ...]


_KINDS = ("cause", "error", "late")
# A message for whose causes only these areas look is about a program, or about its memory.
_OTHERS = ("python", "host", "health", "smoke")


@cache
def evidence() -> frozenset[str]:
    """Return the rows that are no trouble on their own, in no service."""
    return frozenset(row for one in services() for row in one.evidence)


@cache
def services() -> tuple[ServiceEntry, ...]:
    """Return the rows, read once."""
    return load("services", ServicesTable).service
