"""Which modules of the standard library a framework imports only when it is used."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class Later(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a framework imports after its own import, as the rest of a sentence, and the modules with their releases."""

    framework: str
    when: str
    modules: dict[str, str]


class StandardLibrary(KnowledgeTable, frozen=True):
    """The table ``standard_library.toml``."""

    later: tuple[Later, ...]


@cache
def _later() -> tuple[Later, ...]:
    return load("standard_library", StandardLibrary).later


def imported_later(framework: str, number: str, module: str) -> str | None:
    """Return when a release of a framework imports a module of the standard library, or None where it does not."""
    for row in _later():
        first = row.modules.get(module) if row.framework == framework else None
        if first is not None and version(first) <= version(number):
            return row.when
    return None
