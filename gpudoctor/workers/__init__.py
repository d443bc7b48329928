"""Scripts that run inside the checked interpreter: standard library only, Python 3.8 and newer."""

import os


def script(*path: str) -> str:
    """The path of a script in this package: ``script("smoke", "worker.py")``."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), *path)
