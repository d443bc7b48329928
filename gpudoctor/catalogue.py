"""Finds the checks, our own and other packages', and selects among them by id or area."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from gpudoctor import checks
from gpudoctor.areas import concerning, finding_nothing, on_request
from gpudoctor.check_engine import MACHINE, About, Check, Severity, Targets
from gpudoctor.facts import Facts

GROUP = "gpudoctor.checks"
_LISTED = 6  # names that are suggested at most


class SelectionError(ValueError):
    """A selector that names no check; the message is one sentence with the nearest name."""


def ids() -> list[str]:
    """The ids of all checks, our own and other packages'."""
    return [*checks.ids(), *(one.id for one in others())]


def load(wanted: Iterable[str] | None = None) -> list[Check[Any]]:
    """The checks with these ids, else those that run unasked; one that does not import is BROKEN, never silence."""
    foreign = {one.id: one for one in others()}
    wanted = [id_ for id_ in ids() if not on_request(id_)] if wanted is None else wanted
    return [foreign[id_] if id_ in foreign else _load(id_) for id_ in wanted]


def load_for(facts: Facts, wanted: Iterable[str]) -> list[Check[Any]]:
    """The checks with these ids; instead of our own that can find nothing on the machine, ones that skip or pass."""
    foreign = {one.id for one in others()}
    wanted, concerned, passed = list(wanted), concerning(facts), finding_nothing(facts)
    silent = {id_: passed(id_) if concerned(id_) else _no_targets for id_ in wanted if id_ not in foreign}
    needed = [id_ for id_ in wanted if silent.get(id_) is None]
    found = dict(zip(needed, load(needed), strict=True))
    return [found.get(id_) or _silent(id_, silent[id_] or _no_targets) for id_ in wanted]


def _no_targets(_: Facts) -> tuple[()]:
    return ()


def _silent(id_: str, targets: Targets[Any]) -> Check[Any]:
    """A check that stands for one that can find nothing here, and passes on its targets; its file is not even read."""
    made: Check[Any] = Check.__new__(Check)  # a copy: a machine has four hundred of them, and `__init__` takes 1 ms
    made.__dict__.update(_SILENT.__dict__, id=id_, area=id_.partition(".")[0], targets=targets)
    return made


_SILENT: Check[Any] = Check(lambda _: None, title="", severity=Severity.ADVICE, cause="", targets=_no_targets)


def _load(id_: str) -> Check[Any]:
    try:
        return checks.load_one(id_)
    except (Exception, SystemExit) as error:
        return broken(id_, f"{type(error).__name__}: {error}")


def broken(id_: str, why: str) -> Check[Any]:
    """A check that stands for one that could not be loaded; asking it gives BROKEN with the reason."""

    def each(_: Facts) -> Iterator[tuple[About, None]]:
        yield MACHINE, None

    def fails(_: None) -> None:
        raise ImportError(why)

    made: Check[Any] = Check(
        fails, title="A check could not be loaded", severity=Severity.ERROR, cause=why, targets=each
    )
    made.id, made.area = id_, id_.split(".")[0]
    return made


@cache
def others() -> list[Check[Any]]:
    """The checks that other installed packages offer by the entry-point group `gpudoctor.checks`."""
    found: dict[str, Check[Any]] = {}
    for name, value in _entry_points(sys.path):
        try:
            loaded = _other(value)
            if loaded.id in found or loaded.id in checks.ids():
                raise ValueError(f"{value} has the ID {loaded.id} of another check")
        except (Exception, SystemExit) as error:
            loaded = broken(name, f"{type(error).__name__}: {error}")
        found[loaded.id] = loaded
    return list(found.values())


def _other(value: str) -> Check[Any]:
    module, _, attribute = value.partition(":")
    loaded = getattr(__import__(module.strip(), fromlist=["_"]), attribute.strip())
    if not isinstance(loaded, Check):
        raise TypeError(f"{value} is a {type(loaded).__name__}, not a check")
    return loaded


def _entry_points(path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and value of each entry point of our group; importlib.metadata would cost 35 ms on every start.

    Of a package that is found twice, such as installed and in its own source tree, the first counts, as for `import`.
    """
    seen: set[str] = set()
    for folder in path:
        packages = {info: info.rpartition(".")[0].partition("-")[0].lower() for info in _dist_infos(folder)}
        infos = [info for info, package in packages.items() if package not in seen]
        seen |= set(packages.values())
        for info in infos:
            try:
                with open(os.path.join(folder, info, "entry_points.txt"), encoding="utf-8") as file:
                    text = file.read(1 << 20)
            except (OSError, UnicodeDecodeError):
                continue
            yield from _of_group(text)


def _dist_infos(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info"))] if folder else []
    except OSError:
        return []


def _of_group(text: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.strip() == f"[{GROUP}]"
        elif inside and "=" in line:
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def select(every: Sequence[str], only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[str]:
    """The ids that are wanted: those of `only` (ids or areas; all where empty) without those of `skip`.

    A former id of a check stands for it.

    Raises:
        SelectionError: a selector matches nothing, or nothing is left.
    """
    wanted = _matching(every, only) if only else set(every)
    wanted -= _matching(every, skip) if skip else set()
    if not wanted:
        raise SelectionError("No checks left: --skip removes everything that --only selects.")
    return [id_ for id_ in every if id_ in wanted]


def _matching(every: Sequence[str], selectors: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for given in (part.strip() for selector in selectors for part in selector.split(",")):
        if "*" in given:
            from fnmatch import fnmatchcase

            hits = {i for i in every if fnmatchcase(i, given)}
        else:
            area = f"{given}."
            hits = {i for i in every if i == given or i.startswith(area)} or set(renamed(given))
        if not hits:
            raise SelectionError(f'Unknown check or area "{given}".{nearest(given, every)}')
        found |= hits
    return found


def renamed(given: str) -> list[str]:
    """The check that had this id formerly; all checks are imported for it."""
    return [one.id for one in load(ids()) if given in one.aliases] if "." in given else []


def search(text: str, most: int = 5) -> tuple[str, ...]:
    """The checks whose ids and titles share words with a text, the nearest first: "id: title"; all are imported."""
    wanted = _words(text)
    found = [(len(wanted & _words(f"{one.id} {one.title}")), one) for one in load(ids())]
    near = sorted((pair for pair in found if pair[0]), key=lambda pair: (-pair[0], pair[1].id))
    return tuple(f"{one.id}: {one.title}" for _, one in near[:most])


def mentioning(text: str) -> list[Check[Any]]:
    """The checks whose id or title has each word of a text, in any case; none for an empty text; all are imported."""
    words = text.lower().split()
    return [one for one in load(ids()) if words and all(word in f"{one.id} {one.title}".lower() for word in words)]


def _words(text: str) -> set[str]:
    return {
        word for word in re.findall(r"[a-z0-9]{3,}", text.lower()) if word not in ("the", "and", "not", "for", "with")
    }


def nearest(given: str, every: Sequence[str]) -> str:
    """A sentence with the nearest ids or area, those with exactly this name after the dot first; else where all are."""
    from difflib import get_close_matches

    names = [*every, *sorted({i.split(".")[0] for i in every})]
    tails = {i.split(".")[-1]: i for i in every}
    close = [i for i in every if i.partition(".")[2] == given] or get_close_matches(given, names, 1, 0.6)
    close = close or [tails[t] for t in get_close_matches(given, list(tails), 1, 0.6)]
    area, _, tail = given.partition(".")
    if tail and (own := {i.partition(".")[2]: i for i in every if i.startswith(f"{area}.")}):
        # of whole ids the area would make any two alike
        close = [i for i in every if i.partition(".")[2] == tail]
        close = close or [own[t] for t in get_close_matches(tail, own, 1, 0.6)]
        if not close:
            return f" `gpudoctor checks {area}` lists those of {area}."
    if not close:
        return " `gpudoctor checks` lists them all."
    *others, last = (f'"{one}"' for one in close[:_LISTED])
    return f" Did you mean {', '.join(others)}{' or ' * bool(others)}{last}?"
