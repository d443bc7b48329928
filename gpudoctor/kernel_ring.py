"""Reads the ring buffer of the kernel log."""

import os
from collections.abc import Iterator


def records(fd: int, limit: int) -> Iterator[str]:
    """The records of /dev/kmsg up to its present end: each read(2) gives one (Documentation/ABI/testing/dev-kmsg).

    Args:
        fd: of /dev/kmsg, opened without waiting.
        limit: the most bytes that are read.
    """
    while limit > 0:
        try:
            data = os.read(fd, 8192)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the ring has overtaken us; the next read gives the oldest record left
            continue
        if not data:
            return
        limit -= len(data)
        yield data.decode("utf-8", "replace").rstrip("\n")
