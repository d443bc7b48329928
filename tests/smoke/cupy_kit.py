"""The stand-in in CuPy's place, and backends on it."""

import sys
from types import ModuleType
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends.cupy import CupyBackend
from tests.smoke import standin_cupy as standin

KIB = 1 << 10
MIB = 1 << 20


def stand_in(patch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in, as new, for `import cupy`."""
    patch.setattr(standin, "STATE", standin.State())
    for name, module in standin.modules(sys.modules[standin.__name__]).items():
        patch.setitem(sys.modules, name, module)
    return standin


def made(**task: Any) -> CupyBackend:
    """A backend that has taken its device."""
    backend = CupyBackend({"kind": "cuda", **task})
    backend.start()
    return backend
