"""The masks that hide GPUs, read as the drivers read them."""

import pytest

from gpudoctor.parsers.visible_devices import Mask, cuda, hip, is_quoted, listed, rocr

TWO = ("GPU-11111111-aaaa", "GPU-11112222-bbbb")
AMD = ("GPU-0123456789abcdef", None)


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("0", Mask((0,))),
        ("1,0", Mask((1, 0))),
        (" 1", Mask((1,))),
        ("1gpu", Mask((1,))),
        ("", Mask((), "", "malformed")),
        ("-1", Mask((), "-1", "negative")),
        ("none", Mask((), "none", "malformed")),
        ("all", Mask((), "all", "malformed")),
        ('"0"', Mask((), '"0"', "malformed")),
        ("2", Mask((), "2", "index")),
        ("0,2,1", Mask((0,), "2", "index", ("1",))),
        ("0,-1,1", Mask((0,), "-1", "negative", ("1",))),
        ("0,0", Mask((), "0", "twice")),
        ("GPU-11111111", Mask((0,))),
        ("GPU-1111", Mask((), "GPU-1111", "ambiguous")),
        ("GPU-99", Mask((), "GPU-99", "uuid")),
        ("GPU-11112222-bbbb,GPU-11111111", Mask((1, 0))),
        ("GPU-11111111-aaaa,GPU-11111111", Mask((), "GPU-11111111", "twice")),
        ("MIG-1,MIG-2", Mask((-1, -1))),
    ],
)
def test_cuda(text: str, mask: Mask) -> None:
    assert cuda(text, TWO) == mask


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("", Mask((0, 1))),
        ("1", Mask((1,))),
        ("0,0", Mask((0,))),
        ("0,2,1", Mask((0,), "2", "index", ("1",))),
        (" 0", Mask((), " 0", "malformed")),
        ("-1", Mask((), "-1", "negative")),
        ("GPU-0123456789abcdef", Mask((0,))),
    ],
)
def test_hip(text: str, mask: Mask) -> None:
    assert hip(text, AMD) == mask


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("", Mask((), "", "malformed")),
        ("1", Mask((1,))),
        ("0, 1", Mask((0, 1))),
        ("0,0", Mask((0,), "0", "twice")),
        ("7", Mask((), "7", "index")),
    ],
)
def test_rocr(text: str, mask: Mask) -> None:
    assert rocr(text, AMD) == mask


def test_words() -> None:
    assert is_quoted("'0'")
    assert not is_quoted("0,1")
    assert listed((1, 0)) == "1,0"
