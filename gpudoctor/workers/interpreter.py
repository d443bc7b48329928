"""Says what a Python interpreter is: run by that interpreter itself, standard library only, Python 3.8 and newer.

Prints one line, MARK and a JSON object, after whatever the environment's own start-up files print.
"""

import sys

MARK = "gpudoctor-interpreter "


def describe():  # type: () -> dict[str, object]
    """What the running interpreter is and where it imports from, in values that JSON knows."""
    import os
    import site
    import sysconfig

    if hasattr(os, "uname"):
        system = tuple(os.uname())
    else:  # Windows
        import platform

        found = platform.uname()
        system = (found.system, found.node, found.release, found.version, found.machine)
    paths = {name: sysconfig.get_path(name) for name in ("include", "purelib", "platlib", "stdlib", "platstdlib")}
    user = site.getusersitepackages() if site.ENABLE_USER_SITE else None
    return {
        "executable": sys.executable or "",
        "version": "%d.%d.%d" % sys.version_info[:3],
        "full_version": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "implementation_version": "%d.%d.%d" % sys.implementation.version[:3],
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "sys_path": [entry for entry in sys.path if isinstance(entry, str)],
        "user_site": user if user in sys.path else None,
        "sites": list(getattr(site, "getsitepackages", list)()),
        "include": paths["include"],
        "purelib": paths["purelib"],
        "libraries": [paths["stdlib"], paths["platstdlib"]],
        "standard": standard(paths["stdlib"] or ""),
        "system": [part for index, part in enumerate(system) if index != 1],  # less the host's name
    }


# Loaded as Python starts, before it looks into the working directory; from 3.11 on most of them are frozen.
STARTED = frozenset(
    [
        "_bootlocale", "_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings", "genericpath", "io",
        "ntpath", "os", "posixpath", "site", "stat",
    ]
)  # fmt: skip


def standard(library):  # type: (str) -> list[str]
    """The top modules of the standard library that come from files, so that a file of the same name can hide them."""
    import _imp
    import os

    names = getattr(sys, "stdlib_module_names", None)
    if names is None:  # before Python 3.10
        folders = [folder for folder in (library, library + "/lib-dynload") if os.path.isdir(folder)]
        names = {entry.partition(".")[0] for folder in folders for entry in os.listdir(folder)}
    inside = STARTED.union(sys.builtin_module_names)
    return sorted(n for n in names if n.isidentifier() and n not in inside and not _imp.is_frozen(n))


def answer():  # type: () -> dict[str, object]
    """Describe this interpreter with a search path on which only the standard library can be imported.

    The script's own directory goes, and for the while of our imports PYTHONPATH and site-packages too: a json.py
    that lies there is none of ours.
    """
    import os
    import time

    began = time.monotonic()
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    whole, library = list(sys.path), os.path.dirname(os.__file__)
    sys.path[:] = [entry for entry in whole if entry in _standard(library)]
    import site  # noqa: F401
    import sysconfig

    _quoted("")  # imports what it needs

    sysconfig.get_path("include")
    sys.path[:] = whole
    said = describe()
    said["spent"] = time.monotonic() - began
    return said


def _standard(library):  # type: (str) -> tuple[str, ...]
    """The directories of the standard library; on Windows its compiled modules lie in DLLs next to it."""
    import os

    return (library, library + "/lib-dynload", os.path.join(os.path.dirname(library), "DLLs"))


def _json(value):  # type: (object) -> str
    """A value as JSON; json itself imports re, which takes a third of the time for which a quick check waits."""
    if isinstance(value, dict):
        return "{" + ", ".join(_quoted(key) + ": " + _json(value[key]) for key in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_json, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    return "null" if value is None else repr(value).lower()


def _quoted(text):  # type: (str) -> str
    """A text as JSON in ASCII."""
    try:
        from _json import encode_basestring_ascii as quoted  # what json itself takes, where Python is CPython
    except ImportError:
        from json import dumps as quoted
    return quoted(text)


def main():  # type: () -> None
    """Print the answer; of an interpreter that is too old only its version."""
    said = {"version": "%d.%d.%d" % sys.version_info[:3]}  # type: dict[str, object]
    if sys.version_info >= (3, 8):
        said = answer()
    print("\n" + MARK + _json(said))


if __name__ == "__main__":
    main()
