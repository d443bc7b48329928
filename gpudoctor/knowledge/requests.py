"""Names that users ask for, where something else is right."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class RequestRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some names, what is planned in their place, and why; without a plan, what else would do."""

    names: tuple[str, ...]
    plan: tuple[str, ...] = ()
    message: str = ""
    instead: str = ""


class OtherProject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package on PyPI that only has the name of another project.

    Attributes:
        name: of the package.
        versions: how its versions begin; those of the project that is meant begin otherwise or have a local part.
        what: what it is.
        meant: the project that is meant.
        instead: where that one is; {torch} ("2.7"), {tag} ("cp311") and {arch} ("x86_64") are of the environment.
        install: its requirement, where pip can install it; RELEASE is what the user fills in.
        users: packages that use it; empty: PyTorch next to it shows enough.
    """

    name: str
    versions: tuple[str, ...]
    what: str
    meant: str
    instead: str
    install: str = ""
    users: tuple[str, ...] = ()


class Requests(KnowledgeTable, frozen=True):
    """The table ``requests.toml``."""

    row: tuple[RequestRow, ...]
    other_project: tuple[OtherProject, ...]


@cache
def requests() -> Requests:
    """Return the table, read once."""
    return load("requests", Requests)


def row_of(name: str) -> RequestRow | None:
    """Return what is known of a name as it was typed, or None."""
    return next((row for row in requests().row if name.lower() in row.names), None)


def other_project(name: str, version: str) -> OtherProject | None:
    """Return the row of a package that only has the name of another project, or None where it is that project."""
    rows = (row for row in requests().other_project if row.name == name and "+" not in version)
    return next((row for row in rows if version.startswith(row.versions)), None)
