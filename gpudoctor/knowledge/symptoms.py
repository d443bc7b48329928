"""What the messages of programs mean, and which checks look for their causes."""

import itertools
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge import kernel_log
from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.knowledge.wanted import matters
from gpudoctor.lazy_regex import pattern

Kind = Literal["cause", "error", "warning", "late", "waits", "wrapper", "noise"]
Distribution = Literal["ubuntu", "debian", "fedora", "rhel", "suse", "arch"]
# What is harmless is asked first; in each table what is special stands before what is general.
TABLES = (
    "symptoms_noise", "symptoms_passthrough", "symptoms_driver", "symptoms_kernel", "symptoms_containers",
    "symptoms_distributed", "symptoms_serving", "symptoms", "symptoms_foreign", "symptoms_packages", "symptoms_torch",
    "symptoms_frameworks", "symptoms_system", "symptoms_python", "symptoms_questions",
)  # fmt: skip
_RUN = 4  # letters in a row by which a text is found that no whole word finds


class SymptomFix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What helps against a message: one sentence that starts with a verb, what is typed, and on which machines.

    Attributes:
        message: the sentence, without the conditions below: `fixes/row_steps.py` adds those that a machine leaves open.
        commands: each as it is typed, or by distribution; "debian" and "fedora" stand for their families.
        where: the only place in which it is taken; None: as its commands show.
        distribution: the only ones, each itself without those made from it; (): all.
        compiler: of the kernel for which it is; "": any.
        without_driver: whether it is only for machines on which no NVIDIA driver responds.
        then: whether it follows the step before it, instead of being another way.
    """

    message: str
    commands: tuple[str | dict[Distribution, str], ...] = ()
    where: Literal["container", "docker", "kubernetes", "node", "host", "vm", "windows", "wsl", "conda"] | None = None
    distribution: tuple[Distribution, ...] = ()
    compiler: str = ""
    without_driver: bool = False
    then: bool = False


class Symptom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row; the columns are explained in symptoms.toml."""

    id: str
    kind: Kind
    program: str
    meaning: str
    source: str
    has: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    pattern: str = ""
    checks: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    fixes: tuple[SymptomFix, ...] = ()
    advice: str = ""
    tells: str = ""

    @property
    def sentence(self) -> str:
        """The meaning as a sentence."""
        return f"{capitalized(self.meaning)}."


class Symptoms(KnowledgeTable, frozen=True):
    """One of the tables; a row's pattern may name phrases of its table, "<gpu>", which name later ones.

    `engines` are the programs that start containers, as its rows name them.
    """

    row: tuple[Symptom, ...]
    engines: tuple[str, ...] = ()
    phrases: dict[str, str] = msgspec.field(default_factory=dict)


def capitalized(meaning: str) -> str:
    """A meaning with a capital, unless its first word is a name: cuBLAS, libcuda, nvcc, bitsandbytes, torch.compile."""
    first = meaning.split(" ", 1)[0].removesuffix(",").removesuffix("'s")
    tool = first.startswith(("lib", "nv", "gpudoctor")) or first in ("apt", "conda", "dkms", "pip")
    name = not (first.islower() and first.isalpha()) or tool or matters(first)
    return meaning if name else meaning[:1].upper() + meaning[1:]


@cache
def symptoms() -> tuple[Symptom, ...]:
    """Return all rows, in the order in which they are tried."""
    return tuple(
        _spelled(row, table.phrases) for table in (load(name, Symptoms) for name in TABLES) for row in table.row
    )


@cache
def engines() -> frozenset[str]:
    """Return the programs that start containers: what they write, they write on the host."""
    return frozenset(name for table in TABLES for name in load(table, Symptoms).engines)


@cache
def parts() -> tuple[str, ...]:
    """Return texts of which every line that means something has one, in small letters."""
    return (*_by_word(), *_by_run(), *_by_text())


def recognise(line: str) -> Symptom | None:
    """Return what a line means: the first row of the tables that fits it; None: nothing that is known."""
    low = line.lower()
    every, first, by_word = symptoms(), len(symptoms()), _by_word()
    near = [by_word[word] for word in by_word.keys() & set(_WHOLE.findall(low))]
    by_run, runs = _by_run(), set(map("".join, zip(low, low[1:], low[2:], low[3:], strict=False)))
    near += [by_run[run] for run in by_run.keys() & runs]
    near += [entries for text, entries in _by_text().items() if text in low]
    for number, text in itertools.chain.from_iterable(near):
        if number < first and text in low and _fits(every[number], low):
            first = number
    return every[first] if first < len(every) else _of_kernel(line, low)


def _of_kernel(line: str, low: str) -> Symptom | None:
    """The row of the kind of kernel log line that no row's text knows."""
    event = kernel_log.recognise(line)
    rows = _by_kind().get(event.kind, ()) if event is not None else ()
    return next((row for row in rows if _fits(row, low)), None)


def nearest(line: str, most: int = 3) -> tuple[str, ...]:
    """Return the known messages that share most words with an unknown one, the nearest first; () where none is near.

    Args:
        line: the unknown message.
        most: how many at most.
    """
    own = _words(line)
    found: dict[str, float] = {}
    for row in symptoms():
        for text in row.has:
            there = _words(text)
            common = sum(_rarity(word) for word in own & there)
            if len(own & there) >= 2 and common / sum(map(_rarity, there)) >= _NEAR:
                found[row.meaning] = max(found.get(row.meaning, 0.0), common)
    return tuple(sorted(found, key=lambda one: -found[one])[:most])


_NEAR = 0.5  # of a known message's words, weighted by how rare they are
_WHOLE = pattern(r"[a-z0-9_]{4,}")
_INNER = pattern(r"(?<=[^a-z0-9_])[a-z0-9_]{4,}(?=[^a-z0-9_])")
_WORD = pattern(r"[a-z_]{3,}")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _rarity(word: str) -> float:
    return 1 / _frequency().get(word, 1)


@cache
def _frequency() -> Counter[str]:
    return Counter(word for row in symptoms() for text in row.has for word in _words(text))


def _spelled(row: Symptom, phrases: dict[str, str]) -> Symptom:
    """The row with the phrases that its pattern names."""
    pattern = row.pattern
    for name, phrase in phrases.items():
        pattern = pattern.replace(f"<{name}>", phrase)
    return row if pattern == row.pattern else msgspec.structs.replace(row, pattern=pattern)


def _fits(row: Symptom, low: str) -> bool:
    return not row.pattern or _compiled(row.pattern).search(low) is not None


@cache
def _by_word() -> dict[str, list[tuple[int, str]]]:
    """The texts by their longest word that has neighbors on both sides, which a line with the text has whole."""
    return _indexed(lambda text: max(_INNER.findall(text), key=len, default=""))


@cache
def _by_run() -> dict[str, list[tuple[int, str]]]:
    """The texts without such a word, by the four letters in a row that are rarest among them."""
    runs = {text: _runs(text) for row in symptoms() for text in row.has if not _INNER.search(text)}
    often = Counter(run for found in runs.values() for run in found)
    return _indexed(lambda text: min(runs.get(text, ()), key=often.__getitem__, default=""))


@cache
def _by_text() -> dict[str, list[tuple[int, str]]]:
    """The texts that are shorter than that."""
    return _indexed(lambda text: text if len(text) < _RUN else "")


def _runs(text: str) -> list[str]:
    return [text[at : at + _RUN] for at in range(len(text) - _RUN + 1)]


def _indexed(key: Callable[[str], str]) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for number, row in enumerate(symptoms()):
        for text in row.has:
            if name := key(text):
                found.setdefault(name, []).append((number, text))
    return found


@cache
def _by_kind() -> dict[str, list[Symptom]]:
    found: dict[str, list[Symptom]] = {}
    for row in symptoms():
        for kind in row.kinds:
            found.setdefault(kind, []).append(row)
    return found


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)
