"""Commands as people type them and as programs run them: what can be split safely is run, the rest is shown."""

import os
import re
import shlex

from gpudoctor.setup.plan import Command

# What a shell would do more than splitting words: outside of quotes, and inside of double quotes.
_BARE = frozenset("|&;<>()$`\\*?{}[]!#\n\r")
_QUOTED = frozenset("$`\\!\n\r")
_BUILTIN = frozenset(
    ("cd", "export", "unset", "source", ".", "alias", "eval", "exec", "ulimit", "umask", "set", "read", "wait", "trap")
)

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Words that stand for something that a person has to fill in: CONTAINER, NODE, JOB_SCRIPT, "...".
_BLANK = re.compile(r"\.\.\.|(?:[A-Z][A-Z_]{2,})")


def of(*argv: str) -> Command:
    """The command that runs these words."""
    return Command(shlex.join(argv), argv)


def by_hand(text: str) -> Command:
    """A command that only a person or a shell runs."""
    return Command(text)


def of_shell(text: str, home: str | None = None) -> Command:
    """A command as a fix shows it, with its words where splitting it does all that a shell would do.

    Args:
        text: the command.
        home: the folder that a leading ~/ stands for; None: this user's.
    """
    if not _is_plain(text):
        return Command(text)
    words = shlex.split(text)
    if not words or words[0] in _BUILTIN or _ASSIGNMENT.match(words[0]) or any(_BLANK.fullmatch(w) for w in words):
        return Command(text)
    if _is_prose(text):
        return Command(text)
    own = home or os.path.expanduser("~")
    return Command(text, tuple(os.path.join(own, w[2:]) if w.startswith("~/") else w for w in words))


def _is_plain(text: str) -> bool:
    """Whether there is nothing in it but words and quotes: no operator, expansion, comment or pattern."""
    quote = ""
    for place, letter in enumerate(text):
        if quote:
            if letter == quote:
                quote = ""
            elif quote == '"' and letter in _QUOTED:
                return False
        elif letter in "'\"":
            quote = letter
        elif letter in _BARE or (letter == "~" and not _is_home(text, place)):
            return False
    return not quote


def _is_prose(text: str) -> bool:
    """Whether it is a sentence for a person; a way back often is one."""
    return text[:1].isupper() and " " in text and text.endswith(".")


def _is_home(text: str, place: int) -> bool:
    """Whether a tilde is the user's own home at the beginning of a word, or part of a word like any letter."""
    starts = place == 0 or text[place - 1].isspace()
    return text[place + 1 : place + 2] == "/" if starts else True


def needs_root(command: Command) -> bool:
    """Whether a command asks for root itself."""
    return re.search(r"(?:^|[|&;]\s*|\s)sudo\s", command.shown) is not None
