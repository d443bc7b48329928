"""Runs tests in forks of this process: nothing is started or imported again, and nothing a mutant does remains."""

import multiprocessing
import os
import resource
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection

import pytest

from scripts.mutating.planting import Planted

FORK = multiprocessing.get_context("fork")
HANGS = "it hangs"  # or takes all memory
PATIENCE = 3600  # seconds for what hangs without computing
MEMORY = 8 << 30


def forked(act: Callable[[], str], seconds: float) -> str:
    """What a function returns in a fork; HANGS where it computes for so many seconds, or the fork ends otherwise."""
    ours, theirs = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_child, args=(act, theirs, int(seconds)))
    child.start()
    theirs.close()
    try:
        return str(ours.recv()) if ours.poll(PATIENCE) else HANGS
    except EOFError:
        return HANGS
    finally:
        child.kill()
        child.join()
        ours.close()


def _child(act: Callable[[], str], answer: Connection, seconds: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answer.send(act())
    os._exit(0)


def each(act: Callable[[Planted], str], things: Iterable[Planted], jobs: int) -> Iterator[tuple[Planted, str]]:
    """What a function that forks returns for each, so many at once, as they end."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(act, one): one for one in things}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def first_failure(session: pytest.Session, items: list[pytest.Item]) -> str:
    """Run tests in their order; the name of the first that fails, or an empty text."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
    return ""
