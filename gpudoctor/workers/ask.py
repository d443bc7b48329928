"""Started as `PYTHON ask.py FRAMEWORK` in the checked interpreter: imports the framework and asks it for its GPUs."""

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib.util

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def load(name: str) -> "ModuleType":
    """Return a script of this directory as a module."""
    spec = importlib.util.spec_from_file_location("_gpudoctor_" + name, __file__[: -len("ask.py")] + name + ".py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def main(framework: str, *hidden: str) -> None:
    """Ask one framework: torch, tensorflow, cupy, jax or onnxruntime.

    Args:
        framework: its import name.
        hidden: modules of the standard library; told is which of them its import loads.
    """
    teller = load("common").Teller()
    module = teller.bring(framework)
    if hidden:
        teller.tell(standard=[name for name in hidden if name in sys.modules])
    if module is not None:
        load("ask_" + framework).ask(teller, module)
    teller.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
