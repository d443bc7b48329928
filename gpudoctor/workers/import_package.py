"""Started as `PYTHON import_package.py MODULE[:NAME,...] [FIRST...]` in the checked interpreter: imports one package.

The names are those that the package imports only when they are first used.

It imports nothing that is not there, compiles nothing and asks nobody on the network: where the package begins to
build an extension, or waits for one that somebody else builds, that is reported and the process ends.
"""

from __future__ import annotations

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
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


def unwrapped(error: BaseException) -> BaseException:
    """What lazy packages wrap: "Failed to import ... because of the following error"; others say more themselves."""
    while error.__cause__ is not None and str(error).startswith("Failed to import"):
        error = error.__cause__
    return error


def load_name(module: ModuleType, name: str) -> None:
    """Load an attribute or a module of a package; nothing where this release has neither."""
    try:
        getattr(module, name)
        return
    except AttributeError as error:
        # Python's words; transformers' own have no quotes.
        if error.__cause__ is not None or not str(error).endswith((repr(name), "has no attribute " + name)):
            raise
    path = module.__name__ + "." + name
    try:
        importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path and str(error.name) != module.__name__:  # "... is not a package"
            raise


def use(common: ModuleType, teller: Any, module: ModuleType, names: list[str]) -> None:
    """Load what a package imports only when it is first used, and tell the first error; a release may lack a name."""
    for name in names:
        called = name.endswith("()")
        function = teller.find(module, name[:-2]) if called else None
        try:
            if not called:
                load_name(module, name)
            elif callable(function):
                function()
        except Exception as error:
            if called:
                teller.tell(import_error=of_loader(error), later=True)
            else:
                inner = unwrapped(error)
                blamed = common.blamed(inner, module.__name__)
                teller.tell(import_error=teller.full_text(inner), part=name, blamed=blamed)
            return


def main(wanted: str, *first: str) -> None:
    """Import the packages that the given one expects in the process, then the package itself.

    Args:
        wanted: its import name, and after a colon the names in it to use, with "()" behind a function to call.
        first: import names, such as torch.
    """
    module, _, names = wanted.partition(":")
    common = load("common")
    teller = common.Teller()

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
    if found is not None and names:
        use(common, teller, found, names.split(","))
    teller.tell(stage="done", imported=found is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
