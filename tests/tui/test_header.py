"""The first row in all widths: it fills its room, no place loses its key, and the current one keeps its name."""

import pytest

from gpudoctor.tui.header import row
from gpudoctor.tui.screens import PLACES


@pytest.mark.parametrize("current", PLACES, ids=[place.name for place in PLACES])
def test_it_fills_its_room(current: tuple[str, str, str, str]) -> None:
    for width in range(28, 130):
        pieces = row(width, current[1], "demo: mismatch")
        text = "".join(piece.text for piece in pieces)
        assert len(text) == width
        assert f" {current[0]} {current[2]} " in text, width
        assert [piece.place for piece in pieces] == [*(place.name for place in PLACES), None], width
        assert all(f" {place.key} " in text for place in PLACES), width


@pytest.mark.parametrize(
    ("width", "shown"), [(80, "   demo: mismatch "), (76, " demo: misma… "), (67, "     "), (62, "")]
)
def test_the_title_takes_what_is_left(width: int, shown: str) -> None:
    text = "".join(piece.text for piece in row(width, "gpus", "demo: mismatch"))
    assert text.endswith(f"5 Compare {shown}")


def test_less_room_than_there_are_keys_is_no_fault() -> None:
    assert "".join(piece.text for piece in row(5, "gpus", "x")).startswith(" 1 ")
