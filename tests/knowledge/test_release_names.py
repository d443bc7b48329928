"""The names that packages gained and lost."""

import re

import pytest

from gpudoctor.knowledge.release_names import added_in, release_names, removed_in

ROW = re.compile(r"[A-Za-z][\w.]* \d+\.\d+")


def test_each_row_is_whole() -> None:
    for name, row in release_names().package.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), "normalised (PEP 503)"
        for text in (row.added, row.removed, row.modules):
            wrong = [part for part in text.split(", ") if part and not ROW.fullmatch(part)]
            assert not wrong, (name, wrong[:3])


@pytest.mark.parametrize(
    ("package", "name", "came", "went"),
    [
        ("huggingface-hub", "cached_download", "", "0.26"),
        ("huggingface-hub", "HfFolder", "", "1.0"),
        ("accelerate", "clear_device_cache", "0.32", ""),
        ("accelerate", "Accelerator", "", ""),
        ("accelerate", "no_such_name", "", ""),
        ("my-own", "Accelerator", "", ""),
    ],
)
def test_when_a_name_came_and_went(package: str, name: str, came: str, went: str) -> None:
    assert (added_in(package, name), removed_in(package, name)) == (came, went)
