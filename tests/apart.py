"""Runs a test in a child of its own, for what would change the process of all other tests, and of pytest itself."""

import functools
import os
import resource
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def limited(what: int, amount: int) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """The test in a child under a limit of its own: pytest's log may be a file, and larger than the test's limit.

    Args:
        what: the limit, such as resource.RLIMIT_FSIZE.
        amount: its soft value.
    """

    def decorate(test: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            reported, tells = os.pipe()
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    for stream in (1, 2):  # no file: the limit holds for those too
                        os.dup2(tells, stream)
                    sys.dont_write_bytecode = True  # under a limit Python 3.11 would leave it cut short
                    resource.setrlimit(what, (amount, resource.getrlimit(what)[1]))
                    test(*args, **kwargs)
                    code = 0
                except BaseException:
                    os.write(tells, traceback.format_exc().encode())
                finally:
                    os._exit(code)
            os.close(tells)
            with open(reported, errors="replace") as words:
                said = words.read()
            assert os.waitpid(pid, 0)[1] == 0, said

        return run

    return decorate


def unlimited(what: int) -> None:
    """Take the limit away again, for the rest of such a test."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (hard, hard))
