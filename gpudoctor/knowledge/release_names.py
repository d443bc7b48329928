"""Which releases of a package have a name: what an import does not find was removed, or came later."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a package gained and lost: "NAME RELEASE, ...", with the minor release from which on that is so.

    Attributes:
        module: the package that is imported.
        added: names at the top of any of its modules that came.
        removed: those that went.
        modules: the modules that went, with their paths: "keras.src.engine".
    """

    module: str
    added: str = ""
    removed: str = ""
    modules: str = ""


class ReleaseNames(KnowledgeTable, frozen=True):
    """The table ``release_names.toml``."""

    package: dict[str, Names]


@cache
def release_names() -> ReleaseNames:
    """Return the table, read once."""
    return load("release_names", ReleaseNames)


def _found(text: str, name: str) -> str:
    at = f", {text}".find(f", {name} ")
    return text[at + len(name) + 1 :].partition(",")[0] if at >= 0 else ""


def added_in(package: str, name: str) -> str:
    """Return the minor release in which a name came, "4.42"; "" where it is older than the table, or not known."""
    row = release_names().package.get(package)
    return _found(row.added, name) if row else ""


def removed_in(package: str, name: str) -> str:
    """Return the minor release in which a name, or a module by its whole path, went; "" where that is not known."""
    row = release_names().package.get(package)
    return _found(row.modules if "." in name else row.removed, name) if row else ""
