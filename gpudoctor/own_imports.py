"""Imports this package's own modules with half of the system calls of Python's general machinery.

A quick check imports some hundred modules, and the way to each costs more than what is in it. Bytecode counts by
Python's own rule (PEP 552: the time and the size of its source are in its header); whatever is out of the ordinary is
left to the general machinery.
"""

import marshal
import os
import sys
from collections.abc import Sequence
from importlib._bootstrap_external import MAGIC_NUMBER, spec_from_file_location  # importlib.util's own import: 1 ms
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))
_HEADER = MAGIC_NUMBER + bytes(4)  # flags 0: to be compared with the source's time and size
_WORD = 0xFFFFFFFF
_MOST = 1 << 16  # bytes of bytecode that are read; no module of ours has as many


class _Loader(SourceFileLoader):
    """Reads bytecode with one call, where it is that of the source."""

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of a module."""
        try:
            source = os.stat(self.path)
            file = os.open(_bytecode(self.path), os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.read(file, _MOST)
            finally:
                os.close(file)
        except OSError:
            return super().get_code(fullname)
        made_of = (int(source.st_mtime) & _WORD).to_bytes(4, "little") + (source.st_size & _WORD).to_bytes(4, "little")
        if data[:16] == _HEADER + made_of and len(data) < _MOST:
            code = marshal.loads(memoryview(data)[16:])  # noqa: S302 - what Python itself would load
            if isinstance(code, CodeType) and code.co_filename == self.path:
                return code
        return super().get_code(fullname)


def _bytecode(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/__pycache__/{name[:-3]}.{sys.implementation.cache_tag}.pyc"


class _Finder:
    """Finds modules and packages by one listing of each directory."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002 - of the protocol
    ) -> ModuleSpec | None:
        """Where a module of this package is; None where the general machinery has to look."""
        if not name.startswith("gpudoctor.") or not path or not path[0].startswith(_HERE):
            return None
        folder, own = path[0], name.rpartition(".")[2]
        if folder not in self._names:
            self._names[folder] = frozenset(os.listdir(folder))
        if f"{own}.py" in self._names[folder]:
            place, inside = f"{folder}/{own}.py", None
        elif own in self._names[folder]:
            place, inside = f"{folder}/{own}/__init__.py", [f"{folder}/{own}"]
        else:
            return None
        spec = spec_from_file_location(name, place, loader=_Loader(name, place), submodule_search_locations=inside)
        if spec is not None:
            spec.cached = _bytecode(place)
        return spec


def install() -> None:
    """Have it import what is not imported yet; only where Python is as it comes, and not on Windows."""
    if os.sep == "/" and sys.implementation.cache_tag and not sys.flags.optimize and sys.pycache_prefix is None:
        sys.meta_path.insert(0, _Finder())
