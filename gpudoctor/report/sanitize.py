"""Makes strings from facts harmless: no control character and no direction override reaches a terminal."""

import os
from typing import Any

from gpudoctor.lazy_regex import pattern

# C0 and C1 controls without tab and newline, line and paragraph separators, the characters that turn the direction of
# writing (Unicode Technical Report 36, "bidirectional text spoofing"), and what XML and YAML take in no document.
_HARMFUL = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
_COMMAND = pattern("`[^`\n]+`")
_BLANK = "\0"  # no blank to textwrap, and in no text that is clean


def clean(text: str) -> str:
    """The text with each harmful character written as a backslash escape."""
    if text.isascii() and text.isprintable():  # nearly every text; the expression takes long to compile
        return text
    return _HARMFUL.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), text)


def document(value: Any) -> str:
    """A value of msgspec's as an indented JSON document, harmless, with a newline at its end."""
    import msgspec

    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a path or a variable that is no UTF-8, which Python holds as lone surrogates
        data = msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))
    return clean_json(msgspec.json.format(data, indent=2)).decode() + "\n"


def _without_surrogates(node: Any) -> Any:
    if isinstance(node, str):
        try:
            return os.fsencode(node).decode("utf-8", "backslashreplace")
        except UnicodeEncodeError:
            return node.encode("utf-8", "backslashreplace").decode()
    if isinstance(node, dict):
        return {_without_surrogates(key): _without_surrogates(one) for key, one in node.items()}
    return [_without_surrogates(one) for one in node] if isinstance(node, (list, tuple)) else node


def clean_json(data: bytes) -> bytes:
    """A JSON document in which harmful characters stand as JSON escapes, which lose nothing.

    An encoder escapes C0 controls itself; what is left is DEL, C1 and the direction marks.
    """
    if data.isascii() and b"\x7f" not in data:
        return data
    return _HARMFUL.sub(lambda m: f"\\u{ord(m[0]):04x}", data.decode("utf-8")).encode()


def wrapped(text: str, width: int, hang: str = "") -> list[str]:
    """Harmless lines of at most `width` columns; a command in backticks stays whole where a line has room for it.

    A path or a word that is longer than a line stays whole too, to be copied.

    Args:
        text: of one paragraph or several.
        width: columns.
        hang: what each line but the first begins with.
    """
    import textwrap  # JSON needs none of it

    lines = []
    for paragraph in clean(text).splitlines() or [""]:
        whole = _COMMAND.sub(lambda m: m[0].replace(" ", _BLANK) if len(m[0]) + len(hang) < width else m[0], paragraph)
        broken = textwrap.wrap(
            whole,
            width,
            subsequent_indent=hang,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        lines += [line.replace(_BLANK, " ") for line in broken] or [""]
    return lines
