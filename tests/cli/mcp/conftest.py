"""One server for the tests that need none of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.mcp import Assistant, assistant


@pytest.fixture(scope="session")
def shared() -> Iterator[Assistant]:
    """An assistant whose server was started without options."""
    with assistant() as one:
        yield one
