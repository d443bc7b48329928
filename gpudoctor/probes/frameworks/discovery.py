"""Finds each framework in an environment without importing it: the folder `import` takes, and its distributions."""

from collections.abc import Sequence

import msgspec

from gpudoctor.facts.python import Package, Python
from gpudoctor.knowledge.wanted import module_of
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.registry import FRAMEWORKS

# The slowest import first, so that it starts first where there are fewer cores than frameworks.
NAMES = tuple(one.module for one in sorted(FRAMEWORKS, key=lambda one: one.import_order))

# They begin like ONNX Runtime's distributions but bring modules of their own.
_OTHERS = ("onnxruntime-extensions", "onnxruntime-genai", "onnxruntime-tools")


class FoundFramework(msgspec.Struct, frozen=True):
    """A framework's place and its distributions; `packages` are all those of the environment."""

    name: str
    location: str | None
    package: Package | None
    others: tuple[Package, ...]
    packages: tuple[Package, ...]

    @property
    def why_no_files(self) -> str:
        """Why what its files would tell is unknown, where it has no location."""
        return f"no directory on sys.path contains a module {self.name}"

    @property
    def version(self) -> Maybe[str | None]:
        """The version that its metadata says."""
        return self.package.version if self.package else Unknown("there is no metadata next to the module")

    def named(self, name: str) -> Package | None:
        """The first distribution of this name."""
        return next((p for p in self.packages if p.name == name), None)


def find(machine: Machine, python: Python) -> tuple[FoundFramework, ...]:
    """Find the frameworks that have a folder or a distribution in the environment."""
    packages = known_or(python.packages, ())
    folders = known_or(python.sys_path, ())
    found = []
    for name in NAMES:
        location = module_place(machine, folders, name)
        family = [p for p in packages if _module(p.name) == name]
        if location or family:
            found.append(_found(name, location, family, packages))
    return tuple(found)


def module_place(machine: Machine, folders: Sequence[str], module: str) -> str | None:
    """The path that `import` takes: a package's folder, or a .py file; the first namespace folder where neither is.

    Args:
        machine: where they lie.
        folders: sys.path.
        module: the import name.
    """
    namespace = None
    for folder in folders:
        place = f"{folder.rstrip('/')}/{module}"
        if machine.exists(f"{place}/__init__.py"):
            return place
        if machine.exists(f"{place}.py"):
            return f"{place}.py"
        status = machine.status(place)
        if namespace is None and status and status.is_dir:
            namespace = place
    return namespace


def _module(distribution: str) -> str | None:
    if distribution.startswith(_OTHERS):
        return None
    return "cupy" if distribution == "amd-cupy" else module_of(distribution)


def _found(name: str, location: str | None, family: list[Package], packages: tuple[Package, ...]) -> FoundFramework:
    """The distribution beside the folder comes first; of several there the one that brought the most files."""
    beside = location.rpartition("/")[0] if location else None
    family.sort(key=lambda p: (p.directory.rstrip("/") != beside, -(p.files or 0)))
    return FoundFramework(name, location, family[0] if family else None, tuple(family[1:]), packages)


def assignments(text: str) -> dict[str, str | None]:
    """The constants that a generated module assigns: `cuda: Optional[str] = '12.4'` is {"cuda": "12.4"}."""
    import re

    lines = re.finditer(r"""^(\w+)\s*(?::[^=\n]+)?=\s*(?:(None)|(['"])(.*?)\3)\s*$""", text, re.MULTILINE)
    return {line[1]: None if line[2] else line[4] for line in lines}


def read_text(machine: Machine, path: str) -> str | Unknown:
    """A file's text, or why it cannot be read."""
    try:
        return machine.text(path)
    except OSError as error:
        return Unknown(f"{path}: {error.strerror or error}")
