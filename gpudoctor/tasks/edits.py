"""What an edit makes of a file: a pure function of the file's text."""

import re

from gpudoctor.tasks import Edit, FileSection
from gpudoctor.toml import tomllib


class EditError(ValueError):
    """The file is not as the edit expects it; the message is a sentence."""


def edited(edit: Edit, before: str | None) -> str | None:
    """The file's text afterwards.

    Args:
        edit: what is changed.
        before: the file's text; None: there is no file.

    Returns:
        The text; None: no file is left.

    Raises:
        EditError: the change cannot be made in this file.
    """
    if edit.gone:
        return None
    if edit.text is not None:
        return edit.text
    there = before or ""
    if edit.word:
        return _with_word(edit.path, there, *edit.word)
    if edit.sections:
        return _with_sections(edit, there)
    lines = there.splitlines()
    return _lines([*lines, *(line for line in edit.add if line not in lines)])


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _with_word(path: str, text: str, name: str, word: str) -> str:
    """A word at the end of a variable's value, as shells read it: NAME="one two"."""
    found = re.search(rf'^{re.escape(name)}="([^"\n]*)"', text, re.MULTILINE)
    if found is None:
        raise EditError(f'{path} has no line {name}="...", so that it has to be edited by hand.')
    if word in found[1].split():
        return text
    value = f"{found[1]} {word}".strip()
    return f'{text[: found.start()]}{name}="{value}"{text[found.end() :]}'


def _with_sections(edit: Edit, text: str) -> str:
    """Lines below their headers; in TOML the result has to say what the lines say."""
    lines = text.splitlines()
    for section in edit.sections:
        lines = _with_section(lines, section)
    after = _lines(lines)
    if edit.path.endswith(".toml"):
        _must_say(edit, after)
    return after


def _with_section(lines: list[str], section: FileSection) -> list[str]:
    if section.header.startswith("[["):
        wanted = [section.header, *section.lines]
        places = range(len(lines) - len(wanted) + 1)
        there = any([line.strip() for line in lines[n : n + len(wanted)]] == wanted for n in places)
        return lines if there else [*_parted(lines), *wanted]
    headers = [n for n, line in enumerate(lines) if line.strip() == section.header]
    if not headers:
        return [*_parted(lines), section.header, *section.lines]
    first = headers[0] + 1
    last = next((n for n in range(first, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    body = lines[first:last]
    for line in section.lines:
        same = [n for n, old in enumerate(body) if _key(old) == _key(line)]
        if same:
            body[same[0]] = line
        else:
            end = next((n for n in range(len(body), 0, -1) if body[n - 1].strip()), 0)
            body.insert(end, line)
    return [*lines[:first], *body, *lines[last:]]


def _parted(lines: list[str]) -> list[str]:
    return [*lines, ""] if lines and lines[-1].strip() else lines


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _must_say(edit: Edit, after: str) -> None:
    """Hold that a reader of TOML finds in the new text what the lines say.

    Raises:
        EditError: it does not: the file says the same thing in another form, which lines do not reach.
    """
    by_hand = (
        f"{edit.path} is written in a way that this change does not fit into, so that it has to be edited by hand."
    )
    try:
        data = tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        raise EditError(f"{by_hand} ({error})") from None
    for section in edit.sections:
        wanted = tomllib.loads("\n".join(section.lines))
        found: object = data
        for key in section.header.strip("[]").split("."):
            found = found.get(key) if isinstance(found, dict) else None
        tables = found if isinstance(found, list) else [found]
        if not any(isinstance(table, dict) and wanted.items() <= table.items() for table in tables):
            raise EditError(by_hand)
