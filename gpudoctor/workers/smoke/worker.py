"""Started as `PYTHON worker.py` with a task as JSON on stdin: runs smoke tests with one backend on one device.

It writes a JSON object a line, as common.py of the directory above does, so that what was measured before a hang or a
crash is kept.
"""

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import importlib.util
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

PACKAGE = "_gpudoctor_smoke"


def load(name: str) -> "ModuleType":
    """Return a module of this directory; the directory becomes a package under a name that nobody else has."""
    if PACKAGE not in sys.modules:
        folder = __file__[: -len("/worker.py")]
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder + "/__init__.py", submodule_search_locations=[folder]
        )
        package = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)  # type: ignore[union-attr]
    return importlib.import_module(PACKAGE + "." + name)


def teller() -> "Any":
    """Return the channel of common.py in the directory above."""
    path = __file__[: -len("smoke/worker.py")] + "common.py"
    spec = importlib.util.spec_from_file_location("_gpudoctor_common", path)
    common = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(common)  # type: ignore[union-attr]
    return common.Teller()


def main() -> None:
    """Run the task that stdin holds."""
    task = json.load(sys.stdin)
    load("runner").run(teller(), task)


if __name__ == "__main__":
    main()
