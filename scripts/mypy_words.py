"""A plugin for mypy: a value that may be Unknown or None is no part of a sentence.

from gpudoctor.maybe import Maybe, Unknown
mypy refuses to compare a ``Maybe`` before `known` has looked at it; with this plugin it refuses to print one too. It
looks at every f-string and every ``str.format`` (mypy turns the first into the second), and at ``str()``.
"""

from collections.abc import Callable

from mypy.errorcodes import MISC
from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.types import Instance, NoneType, Type, UnionType, get_proper_type

UNKNOWN = "gpudoctor.maybe.Unknown"
# Where sentences are made; elsewhere (an errno's text, a child's exit code) only Unknown is refused.
SENTENCES = tuple(f"gpudoctor/{part}/" for part in ("checks", "fixes", "queries", "report", "setup"))


def _what(typ: Type) -> str | None:
    """What a value of this type may be that nobody may read: "Unknown", "None", or nothing."""
    proper = get_proper_type(typ)
    parts = [get_proper_type(part) for part in proper.items] if isinstance(proper, UnionType) else [proper]
    if any(isinstance(part, Instance) and part.type.fullname == UNKNOWN for part in parts):
        return "Unknown"
    return "None" if any(isinstance(part, NoneType) for part in parts) else None


def _refuse(ctx: FunctionContext | MethodContext) -> Type:
    for types, args in zip(ctx.arg_types, ctx.args, strict=True):
        for typ, arg in zip(types, args, strict=True):
            what = _what(typ)
            if (what == "Unknown" and ctx.api.path.startswith("gpudoctor/")) or (
                what and ctx.api.path.startswith(SENTENCES)
            ):
                ctx.api.fail(f"This may be {what}, which no sentence may print: {typ}", arg, code=MISC)
    return ctx.default_return_type


class Words(Plugin):
    """Refuse to print what may be Unknown or None."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """f-strings and ``"...".format()``."""
        return _refuse if fullname == "builtins.str.format" else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """``str(value)``."""
        return _refuse if fullname == "builtins.str" else None


def plugin(_version: str) -> type[Plugin]:
    """What mypy calls."""
    return Words
