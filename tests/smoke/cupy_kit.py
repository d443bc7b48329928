"""The stand-in in CuPy's place, and backends on it."""

import sys
from types import ModuleType
from typing import Any

import pytest

from gpudoctor.inside.smoke.backends.cupy import Backend
from tests.smoke import standin_cupy as standin

KIB = 1 << 10
MIB = 1 << 20


def stand_in(patch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in, as new, for `import cupy`."""
    patch.setattr(standin, "STATE", standin.State())
    for name, module in standin.modules(sys.modules[standin.__name__]).items():
        patch.setitem(sys.modules, name, module)
    return standin


def made(**task: Any) -> Backend:
    """A backend that has taken its device."""
    backend = Backend({"kind": "cuda", **task})
    backend.start()
    return backend
