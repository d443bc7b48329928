"""Regular expressions that are compiled when they are first used: a run needs few of those that its modules hold."""

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """Becomes the compiled pattern, for all its users, at the first question."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn", "pattern"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """The pattern of a regular expression; its methods can be called, but functions of `re` do not take it.

    Args:
        text: the expression.
        flags: those of `re`.
    """
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
