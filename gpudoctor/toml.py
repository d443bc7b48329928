"""tomllib, which is part of Python from 3.11 on; before that tomli is the same code under its first name."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["tomllib"]
