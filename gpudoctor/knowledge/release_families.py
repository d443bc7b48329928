"""Packages that must be of one release, parts that must be there, and requirements that no metadata names."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.name_pattern import stands_for


class ReleaseFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages of one release; the comment above the first row of the table explains the fields."""

    name: str
    members: tuple[str, ...]
    effect: str
    numbers: int = 0
    refused: bool = False
    override: str = ""
    index: dict[str, str] = {}
    variants: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def pattern_of(self, name: str) -> str | None:
        """Return the member that stands for a distribution, or None where it is no member."""
        return next((member for member in self.members if stands_for(member, name)), None)

    def built_for(self, variant: str) -> bool:
        """Whether the members of an index by variant exist for a build of PyTorch, such as "cu130"."""
        return bool(variant) and (not self.variants or variant in self.variants)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part that a package lists under an extra and does not work without; gpu: does not use an NVIDIA GPU without."""

    of: str
    one_of: tuple[str, ...]
    extra: str
    effect: str
    framework: str = ""
    options: tuple[str, ...] = ()
    note: str = ""
    since: str = "0"
    unless: str = ""
    gpu: bool = False
    proof: str = ""


class NewerDriver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of a package that do not work with drivers of a CUDA release and newer ones.

    Attributes:
        package: its name.
        since: the first such release.
        before: the first that works again.
        cuda: of the drivers, the oldest.
        effect: what fails, as a sentence about the package goes on.
        replaced_by: packages that take the place of what fails, where they are installed.
        off: the variables with which it works, and their values.
        asked_by: packages that use what fails; none: programs do so directly.
        spared_by: packages that require it for the CPU alone.
    """

    package: str
    since: str
    before: str
    cuda: str
    effect: str
    replaced_by: tuple[str, ...] = ()
    off: dict[str, str] = {}
    asked_by: tuple[str, ...] = ()
    spared_by: tuple[str, ...] = ()


class Undeclared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some releases of a package need of another one, and do not name in their metadata.

    `wanted` is empty where any release will do; `build` is the build of PyTorch for which it is needed ("rocm"). With
    `extra` the package asks for at least the release that this extra of it names. `library` is what it opens of the
    other one, wherever that is; `cuda` the CUDA major of the PyTorch that has it not.

    Attributes:
        package: its name; a last `*` stands for any ending.
        error: what its import raises otherwise, as a pattern: an import that succeeds or fails with something else
            shows that the row does not hold. Empty: it fails later.
        torch: the one release of PyTorch with which it is needed.
        install: the release to install, where not any that `wanted` takes.
        switch: the variable that turns the package's own check of it off, if it is true.
        seldom: most programs never meet it, so it is advice.
        gpus: only with a GPU from this compute capability to below that one.
        beside: only where these packages are installed, each from a release to before another.
        newer: a newer release of the package itself is the better fix.
        options: what pip needs to install the other one.
        along: what bounds the other one as well, and is resolved in the same command.
        optional: the package does without the other one.
        fails: no program that uses the package works.
        without: how the name of a library begins with which the package does without the other one.
    """

    package: str
    since: str
    before: str
    other: str
    wanted: str
    effect: str
    build: str = ""
    extra: str = ""
    library: str = ""
    cuda: str = ""
    error: str = ""
    torch: str = ""
    install: str = ""
    switch: str = ""
    seldom: bool = False
    without: str = ""
    gpus: tuple[str, str] | None = None
    beside: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    newer: bool = False
    options: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    optional: bool = False
    fails: bool = False

    def is_about(self, name: str) -> bool:
        """Whether a distribution is the package of the row."""
        return stands_for(self.package, name)


class Removed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Modules that a package dropped in a release: their names, where they went, and the releases that have them.

    `older` is what to install to have them again; "" where the package belongs to one release of PyTorch. `python` is
    the last minor release of Python ("3.11") for which that exists; "" where it does for all.
    """

    package: str
    since: str
    pattern: str
    now: str
    older: str = ""
    python: str = ""

    def has_older(self, python: str) -> bool:
        """Whether the older release exists for a Python, "3.11"; where that is not known, only if it does for all."""
        return bool(self.older) and (not self.python or (bool(python) and version(python)[:2] <= version(self.python)))


class RemovedArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An argument that callables of a package no longer take since a release.

    `call` is a regular expression for their qualified names ("SFTConfig", "XGBClassifier.fit"); `name` is what the
    argument is called since, "" where it went elsewhere, and `now` is what a program writes in its place. `rename`: no
    other function that is called in the same program has an argument of the old name.
    """

    package: str
    call: str
    old: tuple[str, ...]
    since: str
    now: str
    name: str = ""
    rename: bool = False


class EndedPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package without newer releases, and the distribution that brings its modules with what they need today."""

    package: str
    last: str
    instead: str


class DeviceWheels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """AMD's wheels with the kernels of one GPU: their names by the package, their indexes by ROCm's major."""

    prefixes: dict[str, str]
    index: dict[str, str]


class ReleaseFamilies(KnowledgeTable, frozen=True):
    """The table ``release_families.toml``."""

    family: tuple[ReleaseFamily, ...]
    part: tuple[Part, ...]
    undeclared: tuple[Undeclared, ...]
    newer_driver: tuple[NewerDriver, ...]
    argument: tuple[RemovedArgument, ...]
    removed: tuple[Removed, ...]
    ended: tuple[EndedPackage, ...]
    added: dict[str, dict[str, str]]
    device_wheels: DeviceWheels


@cache
def release_families() -> ReleaseFamilies:
    """Return the table, read once."""
    return load("release_families", ReleaseFamilies)


def ended(package: str, number: str) -> EndedPackage | None:
    """Return the row of a package whose newest release this is; None: it may have a newer one."""
    rows = (row for row in release_families().ended if row.package == package)
    return next((row for row in rows if version(number) >= version(row.last)), None)


def first_with(package: str, name: str) -> str | None:
    """Return the release of a package since which it has a name: "nn.attention" of torch; None where it is unknown."""
    return release_families().added.get(package, {}).get(name)
