"""Nothing harmful from facts reaches a terminal, and nothing is lost in JSON."""

import json

import msgspec
import pytest

from gpudoctor.report.sanitize import clean, clean_json, document


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, é 日本 \U0001f600", "plain text, é 日本 \U0001f600"),
        ("tab\tand\nnewline stay", "tab\tand\nnewline stay"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("bell\x07 del\x7f cr\r", "bell\\x07 del\\x7f cr\\r"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("a\u2028b", "a\\u2028b"),
        ("lone \udcff", "lone \\udcff"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown
    assert clean(shown) == shown


def test_json_keeps_the_value_and_hides_the_character() -> None:
    value = {"a": "\x7f \x9b \u202e \u2028 é"}
    data = clean_json(msgspec.json.encode(value))
    assert json.loads(data) == value
    assert not set("\x7f\x9b\u202e\u2028") & set(data.decode())
    assert "é" in data.decode()


def test_a_document_ends_in_one_newline_and_is_indented() -> None:
    assert document({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}\n'


def test_bytes_that_are_no_utf_8_become_text_wherever_they_stand() -> None:
    class Part(msgspec.Struct):
        name: str
        more: tuple[dict[str, str], ...]

    made = json.loads(document(Part("/home/\udcff", ({"k\udce9": "v\ud800"},))))
    assert made == {"name": "/home/\\xff", "more": [{"k\\xe9": "v\\ud800"}]}
