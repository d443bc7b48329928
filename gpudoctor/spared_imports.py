"""Spares a start what packages import for uses that nobody here has: a tenth of a quick check's time.

A stand-in takes the place of such a module while the package is imported, and is gone afterwards: what imports the
module later gets the real one. Only a program may do so, which knows all that runs in its process; a library may not.
"""

import sys
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any


class Deferred:
    """Stands for a module, and imports it at the first question.

    Args:
        name: of the module.
        known: what can be asked for without importing it.
    """

    def __init__(self, name: str, **known: Any) -> None:
        self._name = name
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # __spec__, for which the import machinery looks at each import
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


def function(module: str, name: str) -> Any:
    """What imports a module as it is called, and calls its function."""
    return lambda *given, **named: getattr(import_module(module), name)(*given, **named)


def _unused(name: str) -> type:
    """A type of which there are no values."""
    return type(name, (), {})


# msgspec takes typing_extensions where it is installed, and with it `inspect`; without it, `typing`, which has all of
# ours. It can write UUIDs and decimals, of which we have none, and dates, for which the part of datetime that is
# written in C is enough. argparse would translate its texts.
_OF_MSGSPEC: Mapping[str, Any] = {
    "typing_extensions": None,
    "datetime": import_module("_datetime"),
    "uuid": SimpleNamespace(UUID=_unused("UUID"), SafeUUID=SimpleNamespace(unknown=None)),
    "decimal": SimpleNamespace(Decimal=_unused("Decimal")),
    "msgspec._json_schema": SimpleNamespace(
        schema=function("msgspec._json_schema", "schema"),
        schema_components=function("msgspec._json_schema", "schema_components"),
    ),
    **{name: Deferred(name) for name in ("msgspec.inspect", "msgspec.msgpack", "msgspec.toml", "msgspec.yaml")},
}
_OF_ARGPARSE: Mapping[str, Any] = {
    "gettext": SimpleNamespace(gettext=str, ngettext=lambda one, several, n: one if n == 1 else several),
}
# subprocess needs them for texts and `communicate`, which we do not use: 2 ms. It looks for PollSelector at once.
_OF_SUBPROCESS: Mapping[str, Any] = {
    "locale": Deferred("locale"),
    "selectors": Deferred("selectors", PollSelector=function("selectors", "PollSelector")),
}


@contextmanager
def spared(instead: Mapping[str, Any]) -> Iterator[None]:
    """Have these modules stand in for those of their names, where nobody has imported them yet.

    Args:
        instead: by name; None: importing it fails.
    """
    taken = {name: module for name, module in instead.items() if name not in sys.modules}
    sys.modules.update(taken)
    try:
        yield
    finally:
        for name, module in taken.items():
            if name in sys.modules and sys.modules[name] is module:
                del sys.modules[name]


@contextmanager
def _without_compiling() -> Iterator[None]:
    """Msgspec tries whether ForwardRef takes an argument, which it does from Python 3.11 on, with the text "Foo".

    It would compile that text, as nothing else does, for which Python makes the types of its syntax trees: 1 ms.
    """
    real = typing.ForwardRef

    def tried(text: str, *given: Any, **named: Any) -> Any:
        return None if text == "Foo" and sys.version_info >= (3, 11) else real(text, *given, **named)

    setattr(typing, "ForwardRef", tried)  # noqa: B010 - type checkers know it as a type
    try:
        yield
    finally:
        setattr(typing, "ForwardRef", real)  # noqa: B010


def start_fast() -> None:
    """Import argparse, subprocess and msgspec without what they need for others, before there is another thread."""
    if "msgspec" in sys.modules:
        return
    with spared(_OF_ARGPARSE):
        import argparse  # noqa: F401
    with spared(_OF_SUBPROCESS):
        import subprocess  # noqa: F401
    try:
        with spared(_OF_MSGSPEC), _without_compiling():
            import msgspec  # noqa: F401
    except (AttributeError, ImportError, TypeError):  # a release that needs more of them
        for name in [name for name in sys.modules if name.partition(".")[0] == "msgspec"]:
            del sys.modules[name]
