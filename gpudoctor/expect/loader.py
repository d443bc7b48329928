"""Reads files of expectations, and holds every path and operator against the types of the facts."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from gpudoctor.check_engine import Severity
from gpudoctor.expect import ExpectFileError
from gpudoctor.expect.expectation import Expectation, slug
from gpudoctor.expect.file_permissions import read
from gpudoctor.expect.operators import OPERATORS
from gpudoctor.expect.paths import PathError, resolve, split
from gpudoctor.expect.toml_positions import line_of, lines
from gpudoctor.toml import tomllib

TABLE = "expect"
TEXTS = ("message", "fix", "severity")


def load(paths: Iterable[str]) -> tuple[Expectation, ...]:
    """The expectations of several files, each with an id of its own.

    Raises:
        ExpectFileError: one of them cannot be used.
    """
    found: list[Expectation] = []
    for path in paths:
        found += loads(read(path), path)
    return distinct(found)


def distinct(found: Iterable[Expectation]) -> tuple[Expectation, ...]:
    """The same with numbers after ids that come twice: each is a check."""
    named: dict[str, Expectation] = {}
    for one in found:
        id_, number = one.id, 1
        while id_ in named:  # a file with two of a kind has numbered its own
            number += 1
            id_ = f"{one.id}-{number}"
        named[id_] = one._replace(id=id_)
    return tuple(named.values())


def loads(text: str, name: str) -> tuple[Expectation, ...]:
    """The expectations that a text holds.

    Args:
        text: TOML.
        name: of its file.

    Raises:
        ExpectFileError: it is no TOML, or says something that no fact can be.
    """
    tables = _tables(text, name)
    where = lines(text)
    found = []
    for path, given in tables.items():
        several = given if isinstance(given, list) else [given]
        for nth, table in enumerate(several):
            found.append(_one(path, table, nth, name, where))
    if not found:
        raise ExpectFileError(f'{name} contains no expectations: it needs tables such as [expect."gpus"].')
    return distinct(found)


def _tables(text: str, name: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ExpectFileError(f"{name} is nested too deeply.") from None
    except ValueError as error:
        raise ExpectFileError(_no_toml(str(error), name, text)) from None
    for key in document:
        if key != TABLE:
            line = line_of(lines(text), (key,))
            raise ExpectFileError(f'{name}:{line}: unknown key "{key}"; expectations belong in [expect."PATH"].')
    tables = document.get(TABLE, {})
    if not isinstance(tables, dict):
        raise ExpectFileError(
            f'{name}:{line_of(lines(text), (TABLE,))}: "expect" must contain tables, [expect."PATH"].'
        )
    return tables


def _no_toml(said: str, name: str, text: str) -> str:
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", said)
    line = int(place[1] or len(text.splitlines()) or 1) if place else 1
    why = said[: place.start()] if place else said[:100]
    if twice := re.match(r"Cannot declare \('expect', ['\"](.+)['\"]\) twice", why):
        return f'{name}:{line}: duplicate {twice[1]}; write several as [[expect."{twice[1]}"]].'
    return f"{name}:{line}: invalid TOML: {why}."


def _one(path: str, table: Any, nth: int, name: str, where: dict[tuple[str, ...], list[int]]) -> Expectation:
    keys = (TABLE, path)
    place = f"{name}:{line_of(where, keys, nth)}"
    if not isinstance(table, dict):
        raise ExpectFileError(f'{place}: {path} has no operator: write [expect."{path}"] and below it `is = ...`.')
    try:
        _hold_quoted(path, table)
        steps = split(path)
        leaf = resolve(steps)
    except PathError as error:
        raise ExpectFileError(f"{place}: {path}: {error}") from None
    wanted = []
    for key, given in table.items():
        at = f"{name}:{line_of(where, (*keys, key), nth)}"
        try:
            if key in TEXTS:
                _hold_text(key, given)
                continue
            wanted.append((key, _operator(key).read(given, leaf)))
        except PathError as error:
            raise ExpectFileError(f"{at}: {path}: {error}") from None
    if not wanted:
        fit = ", ".join(one.name for one in OPERATORS.values() if one.suits & leaf.kinds)
        raise ExpectFileError(f"{place}: {path}: no operator; possible: {fit}.")
    severity = Severity(table.get("severity", Severity.ERROR.value))
    message, fix = table.get("message", ""), table.get("fix", "")
    return Expectation(slug(path), steps, path, tuple(wanted), place, severity, message, fix)


def _hold_quoted(path: str, table: dict[str, Any]) -> None:
    """Hold that the path stands between quotes: without them, TOML makes a table of every step."""
    deeper: Any = table
    steps = [path]
    while isinstance(deeper, dict) and len(deeper) == 1 and isinstance(next(iter(deeper.values())), dict):
        step, deeper = next(iter(deeper.items()))
        steps.append(step)
    if any(isinstance(value, dict) for value in table.values()):
        raise PathError(f'write the path between quotes, [expect."{".".join(steps)}"].')


def _operator(key: str) -> Any:
    if key in OPERATORS:
        return OPERATORS[key]
    names = (*OPERATORS, *TEXTS)
    close = get_close_matches(key, names, 1, 0.6)
    hint = f'Did you mean "{close[0]}"?' if close else f"Possible: {', '.join(names)}."
    raise PathError(f'unknown operator "{key}". {hint}')


def _hold_text(key: str, given: Any) -> None:
    if not isinstance(given, str) or not given.strip():
        raise PathError(f'"{key}" must be a string.')
    severities = [one.value for one in Severity]
    if key == "severity" and given not in severities:
        raise PathError(f'"severity" is one of {", ".join(severities)}, not "{given}".')
