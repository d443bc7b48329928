"""What the numbers in "RmInitAdapter failed! (0x24:0x1c:1603)" stand for."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load

Kind = Literal["power", "lost", "interrupts", "memory", "vbios", "timeout", "state", "unsupported", "firmware", ""]


class RmInit(KnowledgeTable, frozen=True):
    """The table ``rm_init.toml``."""

    stage: dict[str, str]
    status: dict[str, tuple[str, Kind]]


class InitFailure(msgspec.Struct, frozen=True):
    """Why the driver could not initialise a GPU: where it stopped, why, and what kind of cause that is."""

    stage: str | None
    status: str | None
    kind: Kind

    @property
    def words(self) -> str:
        """For people, after "it stopped": " while initialising the GPU: too little power"; empty where unknown."""
        stage = f" while {self.stage}" if self.stage else ""
        return stage + (f": {self.status}" if self.status else "")


def failure(code: str) -> InitFailure:
    """Return what "0x24:0x1c:1603" stands for, as far as it is known."""
    stage, _, rest = code.partition(":")
    where, found = _table().stage.get(stage), _table().status.get(rest.partition(":")[0])
    return InitFailure(where, *found) if found else InitFailure(where, None, "")


@cache
def _table() -> RmInit:
    return load("rm_init", RmInit)
