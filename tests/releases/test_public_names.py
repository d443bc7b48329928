"""Which names and arguments the unpacked files of a package have."""

from pathlib import Path

import pytest

from gpudoctor.releases.public_names import PublicNames

FILES = {
    "pack/__init__.py": "from .inner import *\nfrom pack.models import Model as Net, build\nimport os.path as path\n",
    "pack/inner.py": "try:\n    import fast\nexcept ImportError:\n    slow = 1\nif slow:\n    def helper(x): ...\n",
    "pack/models.py": (
        "from dataclasses import dataclass\n"
        "from .base import Base\n"
        "class Model(Base):\n    def __init__(self, size, **more): ...\n    def run(self, steps, *, fast=False): ...\n"
        "class Strict(Base):\n    def __init__(self, size): ...\n"
        "@dataclass\nclass Options:\n    rate: float = 1.0\n"
        "def build(name, device=None): ...\n"
    ),
    "pack/base.py": "class Base:\n    def __init__(self, seed=0): ...\n",
    "pack/lazy/__init__.py": "names = {'deep': ['Deep']}\ndef __getattr__(name): ...\n",
    "pack/lazy/far/away.py": "class Far: ...\n",
    "pack/lazy/listed/__init__.py": "names = {'inside': ['Kept']}\ndef __getattr__(name): ...\n",
    "pack/lazy/listed/inside.py": "class Kept: ...\nclass Dropped: ...\n",
    "pack/fast.cpython-311-x86_64-linux-gnu.so": "",
    "pack/broken.py": "def half(:\n",
    "pack/typed.py": "if TYPE_CHECKING:\n    from .base import Base\nelse:\n    real = 1\nseen[key] = 2\n",
    "space/part.py": "x, (y, z) = 1, (2, 3)\n",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> PublicNames:
    """The files, as `pip install --target` puts them."""
    folder = tmp_path_factory.mktemp("files")
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return PublicNames(str(folder))


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("pack", True),
        ("pack.models", True),
        ("pack.models.Model", True),
        ("pack.models.Modell", False),
        ("pack.Net", True),
        ("pack.Model", False),
        ("pack.path", True),
        ("pack.helper", True),  # by a star, and below an `if`
        ("pack.inner.slow", True),  # below an `except`
        ("pack.lazy.Deep", True),  # listed for a `__getattr__`
        ("pack.lazy.Far", True),  # defined below a package that loads its names late
        ("pack.lazy.Nowhere", False),
        ("pack.lazy.listed.Kept", True),
        ("pack.lazy.Dropped", False),  # defined below, and left out of the list there
        ("pack.fast.anything", True),  # machine code, which is not read
        ("pack.broken.half", False),
        ("space.part", True),  # a package without __init__.py
        ("space.part.z", True),
        ("pack.typed.Base", False),  # for type checkers alone
        ("pack.typed.real", True),
        ("pack.typed.key", False),
        ("other", False),
    ],
)
def test_a_name_is_there_or_not(names: PublicNames, name: str, there: bool) -> None:
    assert names.has(name) is there


@pytest.mark.parametrize(
    ("name", "argument", "taken"),
    [
        ("pack.build", "device", True),
        ("pack.build", "dtype", False),
        ("pack.Net", "size", True),
        ("pack.Net", "seed", True),  # of the base, to which **more goes
        ("pack.models.Strict", "seed", False),  # its own __init__ takes nothing more
        ("pack.models.Options", "rate", True),
        ("pack.models.Model.run", "fast", True),
        ("pack.models.Model.run", "slow", False),
        ("pack.models.Model.walk", "fast", False),
        ("pack.models", "size", False),
        ("nothing.here", "size", False),
    ],
)
def test_an_argument_is_taken_or_not(names: PublicNames, name: str, argument: str, taken: bool) -> None:
    assert names.takes(name, argument) is taken


def test_machine_code_is_seen(names: PublicNames, tmp_path: Path) -> None:
    assert names.compiled
    assert not PublicNames(str(tmp_path)).compiled
