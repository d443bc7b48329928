"""Which Python packages matter for GPUs, and which distributions bring which import name."""

from collections.abc import Collection
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.name_pattern import any_stands_for, stands_for
from gpudoctor.registry import BY_MODULE


class Module(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An import name and the distributions that bring it; a last `*` stands for any ending."""

    name: str
    distributions: tuple[str, ...]


class Shared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A module and the distributions that all write it, the fullest first.

    Attributes:
        module: its import name.
        distributions: what writes it.
        headless: a distribution = the one without a desktop's libraries.
        desktop: those libraries.
        fuller: the distributions with more modules than the others.
        library: the file in which those are.
        modules: what the others lack, for people.
    """

    module: str
    distributions: tuple[str, ...]
    headless: dict[str, str]
    desktop: tuple[str, ...]
    fuller: tuple[str, ...]
    library: str
    modules: str


class OfFramework(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The modules and programs that belong to a framework, which its import name stands for."""

    framework: str
    modules: tuple[str, ...]
    programs: tuple[str, ...]


class PartForFramework(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The module of a package that is for a framework: the package's own import loads it only if it can."""

    package: str
    framework: str  # by its import name
    module: str


class Late(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package that loads its libraries when it is used, and the function of its module that does."""

    package: str
    call: str


class Wanted(KnowledgeTable, frozen=True):
    """The table wanted.toml."""

    prefixes: tuple[str, ...]
    names: frozenset[str]
    extensions: frozenset[str]
    records: dict[str, str]
    computing: tuple[str, ...]
    standalone: tuple[str, ...]
    users: tuple[str, ...]
    lazy: dict[str, tuple[str, ...]]
    of_command: dict[str, tuple[str, ...]]
    hidden: tuple[str, ...]
    other_projects: tuple[str, ...]
    same_paths: tuple[tuple[str, str], ...]
    module: tuple[Module, ...]
    shared: tuple[Shared, ...]
    framework: tuple[OfFramework, ...]
    part: tuple[PartForFramework, ...]
    late: tuple[Late, ...]


@cache
def wanted() -> Wanted:
    """Return the table, read once."""
    return load("wanted", Wanted)


def matters(name: str) -> bool:
    """Whether the metadata of a distribution is worth reading; `name` is normalised (PEP 503)."""
    table = wanted()
    return name.startswith(table.prefixes) or name in table.names


def modules() -> tuple[str, ...]:
    """Return the import names for which sys.path is searched."""
    return tuple(module.name for module in wanted().module)


def hideable() -> tuple[str, ...]:
    """Return the import names that are searched for more than one copy, and for a file that hides them."""
    return (*modules(), *wanted().hidden)


def module_of(name: str) -> str | None:
    """Return the import name that a distribution brings, or None where the table does not know it."""
    plain, starred = _brought()
    return plain.get(name) or next((module for pattern, module in starred if stands_for(pattern, name)), None)


@cache
def _brought() -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """The import name that each distribution brings, and those of the patterns."""
    pairs = [(pattern, module.name) for module in wanted().module for pattern in module.distributions]
    return dict(reversed(pairs)), tuple(pair for pair in pairs if "*" in pair[0])


def shared_by(module: str) -> tuple[str, ...]:
    """Return the distributions that all write a module; empty where the table has none."""
    return next((row.distributions for row in wanted().shared if row.module == module), ())


def is_framework(module: str) -> bool:
    """Whether an import name is a framework's own, not a helper's."""
    return module in BY_MODULE


def computes(name: str) -> bool:
    """Whether a distribution beside the frameworks runs code of its own on the GPU."""
    return is_extension(name) or any_stands_for(wanted().computing, name)


def stands_alone(name: str) -> bool:
    """Whether a distribution uses a GPU without any of the frameworks."""
    return any_stands_for(wanted().standalone, name)


def part_for(package: str, frameworks: Collection[str]) -> str | None:
    """Return the module of a package that is for one of the frameworks; None where it has none of its own."""
    return next((p.module for p in wanted().part if p.package == package and p.framework in frameworks), None)


def names_used(package: str) -> tuple[str, ...]:
    """Return the names of a package that its import alone does not load, and that most of its programs use."""
    return wanted().lazy.get(package, ())


def of_command(package: str) -> tuple[str, ...]:
    """Return those of its names that only a command of the package uses, and no program that imports it."""
    return wanted().of_command.get(package, ())


def late_call(package: str) -> str:
    """Return the function by which a package loads its libraries when it is used; "" where its import does."""
    return next((row.call for row in wanted().late if row.package == package), "")


def is_extension(name: str) -> bool:
    """Whether a distribution holds compiled code against PyTorch."""
    return name in wanted().extensions
