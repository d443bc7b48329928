"""Work on files that lie who knows where: in a thread that nobody waits for, because a dead mount never lets it go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

T = TypeVar("T")


def aside(node: MessagePump, work: Callable[[], Message]) -> None:
    """Have a node told what came of some work; the work handles its own errors."""
    Thread(target=lambda: node.post_message(work()), daemon=True).start()


async def answer(work: Callable[[], T]) -> T:
    """What came of some work; others go on meanwhile."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def tell(value: T) -> None:
        if not found.done():  # who asked may have gone
            found.set_result(value)

    def run() -> None:
        value = work()
        with suppress(RuntimeError):  # the application has ended meanwhile
            loop.call_soon_threadsafe(tell, value)

    Thread(target=run, daemon=True).start()
    return await found
