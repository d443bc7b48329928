"""Started as `PYTHON import_package.py MODULE [FIRST...]` in the checked interpreter: imports one package.

It imports nothing that is not there, compiles nothing and asks nobody on the network: where the package begins to
build an extension, or waits for one that somebody else builds, that is reported and the process ends.
"""

from __future__ import annotations

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib.util
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

COMPILERS = ("ninja", "nvcc", "hipcc", "g++", "c++", "gcc", "clang", "clang++", "icpx")
# glibc's words: elf/dl-load.c, elf/dl-lookup.c, elf/dl-version.c.
LOADER = ("cannot open shared object file", "undefined symbol", "' not found (required by")
LONGEST = 4000
# What only asks a compiler which one it is.
ASKS = ("--version", "-V", "-v", "-dumpversion", "-dumpfullversion", "--help")


def load(name: str) -> ModuleType:
    """Return a script of this directory as a module."""
    place = __file__[: -len("import_package.py")] + name + ".py"
    spec = importlib.util.spec_from_file_location("_gpudoctor_" + name, place)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def builds(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event is a compiler that is started: https://docs.python.org/3/library/audit_events.html."""
    if event != "subprocess.Popen":
        return False
    words = arguments[1]
    words = [words] if isinstance(words, (str, bytes)) else list(words)
    words = [os.fsdecode(word) for word in words]
    name = os.path.basename((words[0].split() or [""])[0]) if words else ""
    return name in COMPILERS and not any(word in ASKS for word in words[1:])


def lock_of(event: str, arguments: tuple[Any, ...]) -> str:
    """The lock that PyTorch's FileBaton makes before it builds (torch/utils/file_baton.py); empty: none."""
    if event != "open" or not isinstance(arguments[0], (str, bytes)) or not isinstance(arguments[2], int):
        return ""
    path = os.fsdecode(arguments[0])
    return path if arguments[2] & os.O_EXCL and os.path.basename(path) == "lock" else ""


def leaves(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event is a connection to another machine."""
    if event != "socket.connect" or not isinstance(arguments[1], tuple):
        return False
    return str(arguments[1][0]) not in ("127.0.0.1", "::1", "localhost")


def of_loader(error: BaseException) -> str:
    """The first line of an error, and what the loader said of each library that was tried."""
    first, *lines = str(error).strip().splitlines() or [""]
    said = [line for line in lines if ".so" in line and any(words in line for words in LOADER)]
    return "\n".join([type(error).__name__ + ": " + first, *said])[:LONGEST]


def main(module: str, *first: str) -> None:
    """Import the packages that the given one expects in the process, then the package itself.

    Args:
        module: its import name; behind a colon the function of it that loads its libraries, where it has that.
        first: import names, such as torch.
    """
    teller = load("common").Teller()
    module, _, call = module.partition(":")

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        lock = lock_of(event, arguments)
        if lock or builds(event, arguments):
            teller.tell(builds=True, **({"lock": lock} if lock and os.path.exists(lock) else {}))
            os._exit(0)
        if leaves(event, arguments):
            raise OSError(101, "Network is unreachable")

    sys.addaudithook(watch)
    for name in first:
        try:
            importlib.import_module(name)
        except BaseException:  # its own import is reported elsewhere
            teller.tell(without=name)
            os._exit(0)
    found = teller.bring(module, blame=True)
    function = teller.find(found, call) if found is not None and call else None
    if callable(function):
        try:
            function()
        except Exception as error:
            teller.tell(import_error=of_loader(error), later=True)
    teller.tell(stage="done", imported=found is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
