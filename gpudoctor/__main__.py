"""Starts gpudoctor, by `python -m gpudoctor` and by the installed scripts."""

import os
import sys


def main() -> int:
    """Run the command line with a search path on which nobody's json.py stands before the standard library's.

    Python puts a folder first on sys.path: the working directory for `python -m`, the script's own for a script.
    The standard library takes its place, and so stands before PYTHONPATH too.
    """
    if not sys.flags.safe_path and sys.path:
        sys.path[0] = os.path.dirname(os.__file__)
    from gpudoctor.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
