"""The engines by name; each is loaded when it is asked for, for its library may be missing."""

from importlib import import_module
from typing import cast

from gpudoctor.fleet.runner.engine import ShownEngine

# name: (module, class)
ENGINES = {
    "slurm": ("slurm", "Slurm"),
    "ssh": ("clustershell", "ClusterShell"),
    "ray": ("ray", "Ray"),
    "kubernetes": ("kubernetes", "Kubernetes"),
}


def engine(name: str, **options: object) -> ShownEngine:
    """The engine of this name.

    Raises:
        EngineError: its library or its program is not here.
    """
    module, kind = ENGINES[name]
    return cast(ShownEngine, getattr(import_module(f"{__name__}.{module}"), kind)(**options))
