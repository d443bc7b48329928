"""PYTORCH_CUDA_ALLOC_CONF is read as PyTorch reads it."""

import pytest

from gpudoctor.parsers.allocator_settings import Setting, settings

BOOLEAN = "the value has to be True or False, with a capital letter"
BETWEEN = "the value must be between 0.0 and 1.0, both excluded"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("expandable_segments:True", [None]),
        ("expandable_segments:true", [BOOLEAN]),
        ("max_split_size_mb:128, garbage_collection_threshold:0.8", [None, None]),
        ("garbage_collection_threshold:1.0", [BETWEEN]),
        ("garbage_collection_threshold:much", [BETWEEN]),
        ("max_split_size_mb:10", ["the value has to be greater than 20"]),
        ("max_split_size_mb:big", ["the value has to be a number of MiB"]),
        ("max_split_size_mb=128", ["name and value are parted by a colon, not by ="]),
        ("expandable_segments", ["a colon and a value have to follow"]),
        ("roundup_power2_divisions:[256:1,512:2,>:8],max_split_size_mb:64", [None, None]),
        ("backend:cudaMallocAsync", [None]),
        ("backend:async", ["the value has to be native or cudaMallocAsync"]),
        ("of_the_future:7", [None]),
        ("", []),
    ],
)
def test_what_is_wrong_with_each_option(text: str, wrong: list[str | None]) -> None:
    assert [one.wrong for one in settings(text)] == wrong


def test_blanks_and_empty_entries_do_not_count() -> None:
    assert settings(" a : 1 ,, b:2") == (Setting("a", "1", None), Setting("b", "2", None))
