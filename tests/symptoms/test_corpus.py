"""Messages of public threads: the cause first, the right step, nothing harmful, and no word about noise."""

import re
from collections import Counter

import pytest

from tests.symptoms.corpus import Row, missed, rows

NUMBERED = [
    pytest.param(row, id=row.id, marks=[pytest.mark.xfail(reason=row.open)] if row.open else []) for row in rows()
]


@pytest.mark.parametrize("row", NUMBERED)
def test_a_message_is_explained_as_its_thread_did(row: Row) -> None:
    assert missed(row) == []


def test_the_corpus_is_large_and_sound() -> None:
    kinds = Counter(row.kind for row in rows())
    assert kinds["fault"] >= 110
    assert min(kinds["not-gpu"], kinds["noise"]) >= 20
    assert max(Counter(row.id for row in rows()).values()) == 1
    assert [row.id for row in rows() if not re.fullmatch(r"https://\S+|[\w.-]+/[\w.-]+#\d+", row.source)] == []
    assert [row.id for row in rows() if row.kind == "fault" and not (row.root and row.fix)] == []
    for row in rows():
        assert all(re.compile(one) for one in (*row.root, *row.fix, *row.never))
