"""Starts gpudoctor, by `python -m gpudoctor` and by the installed scripts."""

import os
import sys

if sys.version_info < (3, 10):  # noqa: UP036 - from a checkout, where no installer has looked at it
    sys.exit(
        f"gpudoctor needs Python 3.10 or newer, and this is {sys.version_info[0]}.{sys.version_info[1]}. "
        "`uvx --from gpudoctor-cli gpudoctor check` brings its own Python; --python names the one to check."
    )

TYPE_CHECKING = False  # nothing more is imported before `main` has put the standard library first
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command line with a search path on which nobody's json.py stands before the standard library's.

    Python puts a folder first on sys.path: the working directory for `python -m`, the script's own for a script.
    The standard library takes its place, and so stands before PYTHONPATH too.
    """
    if not getattr(sys.flags, "safe_path", False) and sys.path:  # from Python 3.11 on
        sys.path[0] = os.path.dirname(os.__file__)
    import gc

    gc.set_threshold(100_000, 50, 50)  # 10 ms of collecting garbage that is none
    import signal

    from gpudoctor.own_imports import install

    install()
    from gpudoctor.process_cleanup import end_on_signals

    end_on_signals()
    if sys.platform != "win32":
        # inherited as ignored, the kernel would take our children's codes
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    from gpudoctor.spared_imports import start_fast

    start_fast()
    from gpudoctor.cli import main as run

    end(run())


def end(code: int) -> "NoReturn":
    """End without taking every module apart, which takes 12 ms, and without waiting for threads that hang."""
    import atexit
    from contextlib import suppress

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or gone
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
