"""Reads a log once, from its first byte to its last, and keeps what means something; its memory is bounded."""

import re
import string
from collections import deque
from collections.abc import Iterable
from typing import Literal

import msgspec

from gpudoctor.knowledge import kernel_log
from gpudoctor.knowledge.symptoms import Symptom, recognise
from gpudoctor.lazy_regex import pattern
from gpudoctor.symptoms.lines import LogLines, gathered, readable, shared, unframed
from gpudoctor.symptoms.log import Hit, Log, Raised

# Lines after a message that may say more of it, how much of a line is shown, and how much of one
# and how many with those that repeat it are kept.
AFTER, SHOWN = 12, 400
LONGEST, MOST = 4000, 60
# How many exceptions that nobody knows are kept besides the last one.
KEPT = 2
# A line is told from others by what is left without these: in a training log nearly all lines are alike.
_NUMBERS = b"0123456789.,:%-+ "
# In such lines a number decides, so each is looked at.
_NUMBERED = (b"rror", b"xit", b"ignal", b"code", b"SIG", b"gfx")
_ALIKE = 1 << 16  # shapes of lines that are remembered, by their hashes
_WRAPPED = 60  # a line at least as long may go on in the next, because a terminal or a box has broken it
_SEAM = 160  # so much of both is looked at
# What goes on does not begin like the line before; lines of a logger do: "ERROR 04-05 01:12:55 [core.py:390] ".
_LOGGER = 8
_DATED = pattern(r"\[ *\d+\.\d+\] ")  # a line of the kernel log ends none
_WARNS = pattern(r"Warning: |^W\d{4} |: W (?:tensorflow|external)|^\[?W\d{3}|\[W\d*[: ]|^\W*WARNING\b")
_RANK = pattern(r"\[(?:rank|default)\s?(\d+)\]|\[Rank (\d+)\]|\brank[ :=]+(\d+)", re.I)
_FILE = pattern(r"(?:site|dist)-packages[/\\](\w+)")
_FRAME = pattern(r"\bFile \"([^\"]+)\", line \d+(?:, in (\S+))?")
# What passes on the attribute that another one asks for, as lazily loaded modules do (PEP 562): nobody's own code.
_PASSES_ON = "__getattr__"
# Python's own modules, through which an error only passes.
_STANDARD = pattern(r"^<frozen |[/\\](?:lib/python3[^/]*|Lib)[/\\]")
_EXCEPTION = pattern(r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Failure|Expired)\b|^[\w.]+: \S")
_GPU = pattern(r"gpu|cuda|cudnn|rocm|\bhip\b|nccl|nvidia|xla_bridge|accelerator", re.I)
# An error without a traceback before it: people paste the last line. Programs go on after such lines, too, so one
# counts only among the last lines of a log in which nothing else failed.
_LOOSE = pattern(
    r"^\W{0,3}(?:\[rank\d+\]: |E {3,}|\(\w+ pid=\d+[^)]*\) )?"
    r"(?:(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Failure)(?:: \S|$)|(?:fatal|panic)(?: error)?: "
    r"|error(?: while)?(?:: | loading )\S"
    r"|(?:/bin/)?(?:ba|da|z|)sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found"
    r"|\S+(?::\d+|\(\d+\))(?::\d+)?: (?:fatal )?error\b|\w+ : fatal error )",  # compilers and linkers
    re.I,
)
# The level of a logger, less that of a kernel log and of a traceback's frames; most programs go on after such a line.
_LEVEL = pattern(r"^(?!\[ *\d+\.\d+\]|.*\] {2,}).{0,60}?\b(?:ERROR|CRITICAL|FATAL)\b[\]:| ]")
_LATEST, _LAST = 15, 3
# What a program raises that has no GPU; the words are in the line of code: assert torch.cuda.is_available(), and
# tf.config.list_physical_devices("GPU")[0].
_ASSERTED = pattern(r"^(?:AssertionError|SystemExit|IndexError)\b")
_CHAIN = pattern("During handling of the above exception|direct cause of the following exception")
_LETTERS = string.ascii_letters
TRACEBACK = "Traceback (most recent call last)"


class Scanner:
    """Takes a log piece by piece; `log` is what it says so far.

    Args:
        log: what to add to, where several streams make one log; each has a scanner.
    """

    def __init__(self, log: Log | None = None) -> None:
        self.log = log or Log()
        self._lines = LogLines()
        self._number = 0  # of the stream's own line, which may come in several pieces
        self._alike: set[int] = set()
        self._before = b"", "", False  # the line before: its shape, its text, and whether it meant something
        self._open: list[Hit] = []  # that still want the lines after them
        self._packages: deque[str] = deque(maxlen=6)
        self._frames: deque[str] = deque(maxlen=20)  # the same for all files; "" for the program's own
        self._file = ""  # the last of the program's own files in the traceback
        self._frame: deque[str] = deque(maxlen=3)  # the last lines of a traceback: file, source and marks
        self._bare: tuple[int, str] | None = None  # an exception whose words begin on the next line
        self._loose: Raised | None = None  # the last error that no traceback belongs to
        self._counts = _LATEST  # within so many last lines
        self._kept = False  # the last traceback ended with an exception that no row knows
        self._chained = False  # the next exception was raised because of the one before
        self._prefix = ""  # what a program that gathers logs has written before this line
        self._inside: str | None = None  # what stands before each line of the traceback that we are in

    def feed(self, data: bytes) -> None:
        """Read a piece of any size."""
        for number, line in self._lines.feed(data):
            self._line(number, line)

    def close(self) -> Log:
        """Read what no newline ended; gives the log."""
        for number, line in self._lines.close():
            self._line(number, line)
        if self._loose and not self.log.failed and self.log.lines - self._loose.line < self._counts:
            self.log.raised.append(self._loose)
        return self.log

    def _line(self, own: int, line: bytes) -> None:
        if own != self._number:
            self._number = own
            self.log.lines += 1
        number = self.log.lines
        shape = line.translate(None, _NUMBERS)
        if self._boring(shape, line):
            return
        whole = readable(line)
        self._prefix, text = gathered(whole)
        clear = unframed(text)
        self.log.marks.read(unframed(whole))
        place = self._follow(text, clear)
        # A frame's line only shows where words are written; what a logger writes before a traceback may be a message.
        said = clear.partition(TRACEBACK)[0] if place == "inside" and TRACEBACK in clear else clear
        row = None if place == "inside" and said == clear else recognise(said)
        if row is None and not place and (joined := self._joined(clear)) is not None:
            row, clear, number = joined[0], joined[1], number - 1
        for hit in self._open:
            hit.lines.append(clear[:LONGEST])
        self._open = [hit for hit in self._open if len(hit.lines) <= AFTER]
        if row is not None:
            self._bare = None
            self._met(row, number, clear)
        elif not (self._end(place == "end", number, clear) or place or self._lonely(number, clear) or _numbered(line)):
            self._remember(shape)
        self._before = shape, clear, row is not None or place == "inside"

    def _end(self, ends: bool, number: int, clear: str) -> bool:
        """Keep the exception that ends a traceback; its words may begin on the next line. Whether there is one."""
        if ends and clear.endswith(":"):
            self._bare = number, clear.strip()
        elif ends:
            self._raised(number, clear)
        elif self._bare and any(map(str.isalnum, clear)):  # no line of "===="
            (first, before), text = self._bare, clear.strip()
            if text.endswith(":"):  # an error that wraps another one: what that says comes last
                self._bare = first, f"{before.partition(': ')[0]}: {text}"
            else:
                self._raised(first, f"{before} {text}")
                self._bare = None
        return ends

    def _lonely(self, number: int, clear: str) -> bool:
        """Keep an error that stands without a traceback. Whether the line is one."""
        if kernel_log.recognise(clear) is None and (event := kernel_log.driver_error(clear, None)) is not None:
            self._keep(Raised(line=number, text=clear.strip()[:SHOWN], program=event.module or "the kernel"))
        elif (exact := _LOOSE.match(clear) is not None) or _LEVEL.match(clear) is not None:
            self._counts = _LATEST if exact else _LAST
            text = clear.strip()[:SHOWN]
            program = "Python" if _EXCEPTION.search(text) else "the program"
            gpu = _GPU.search(text) is not None
            self._loose = Raised(line=number, text=text, rank=_rank(self._prefix + clear), program=program, gpu=gpu)
        else:
            return False
        return True

    def _boring(self, shape: bytes, line: bytes) -> bool:
        """Whether a line like this one has already been seen to mean nothing, and nobody waits for lines."""
        if self._open or self._bare or self._inside is not None or hash(shape) not in self._alike:
            return False
        if len(self._before[1]) >= _WRAPPED and hash((self._before[0], shape)) not in self._alike:
            return False
        self._before = (shape, "", False) if len(line) < _WRAPPED else (shape, readable(line), False)
        return True

    def _remember(self, shape: bytes) -> None:
        if len(self._alike) >= _ALIKE:
            self._alike.clear()
        self._alike.add(hash(shape))
        if len(self._before[1]) >= _WRAPPED:
            self._alike.add(hash((self._before[0], shape)))

    def _joined(self, clear: str) -> tuple[Symptom, str] | None:
        """The message that this line ends and the one before began: broken at a word, or at the terminal's edge."""
        _, before, meant = self._before
        after = clear.strip()
        if meant or not after or len(before) < _WRAPPED or _DATED.match(after) is not None:
            return None
        if len(shared(before.lstrip(), after)) >= _LOGGER:
            return None  # two lines of one logger
        within_a_word = before[-1].isalnum() and after[0].isalnum()
        for between in (" ", "") if within_a_word else (" ",):
            if (row := recognise(before[-_SEAM:] + between + after[:_SEAM])) is not None:
                return row, before + between + after
        return None

    def _follow(self, text: str, clear: str) -> Literal["inside", "end", ""]:
        """Go through a traceback: whether this line is one of its frames, or the exception that ends it."""
        begin = text.find(TRACEBACK)
        if _CHAIN.search(text) is not None:
            self._chained = True
            if self._kept and self.log.raised:
                self.log.raised[-1] = msgspec.structs.replace(self.log.raised[-1], passed_on=True)
        if begin >= 0:
            self._kept = False
            self._inside = "" if "─" in text[:begin] else text[:begin]
            self._packages.clear()
            self._frames.clear()
            self._file = ""
            self._frame.clear()
            return "inside"
        if self._inside is None:
            if not self._bare:
                self._frames.clear()
            return ""
        if self._inside and not text.startswith(self._inside):  # "worker died: Traceback": only what stands before both
            self._inside = shared(self._inside, text).rstrip(_LETTERS)
        rest = text[len(self._inside) :]
        if not rest or rest[:1] in " \t│╰╭|+":
            self._frame.append(clear[:LONGEST])
            found = _FILE.search(clear)
            if found is not None:
                self._packages.append(found[1])
            file = _FRAME.search(clear)
            if file is None or (found is not None and file[2] == _PASSES_ON):
                return "inside"
            if found is not None or _STANDARD.search(file[1]) is None:
                self._frames.append(found[1] if found is not None else "")
                self._file = file[1] if found is None else self._file
            return "inside"
        self._inside = None
        return "end" if _EXCEPTION.match(rest[:SHOWN]) is not None else ""

    def _met(self, row: Symptom, number: int, clear: str) -> None:
        if row.kind == "noise":
            self.log.harmless[row.id] = row, self.log.harmless.get(row.id, (row, 0))[1] + 1
            return
        kind = "warning" if row.kind == "error" and _WARNS.search(clear) else row.kind
        old = self.log.hits.get(row.id)
        if old is not None:
            old.times += 1
            if len(old.lines) < MOST and clear != old.lines[-1]:
                old.lines.append(clear[:LONGEST])
            old.kind = kind if old.kind == "warning" else old.kind
            return
        hit = Hit(
            symptom=row,
            kind=kind,
            line=number,
            text=_shown(clear, row),
            lines=[clear[:LONGEST]],
            rank=_rank(self._prefix + clear),
            packages=tuple(dict.fromkeys(self._packages)),
            frames=self._inner(),
        )
        self.log.hits[row.id] = hit
        self._open.append(hit)

    def _raised(self, number: int, clear: str) -> None:
        packages, text = tuple(dict.fromkeys(self._packages)), clear.strip()[:SHOWN]
        words = " ".join((*self._frame, text)) if _ASSERTED.match(text) else text
        gpu = _GPU.search(words) is not None
        self._keep(
            Raised(
                line=number,
                text=text,
                rank=_rank(self._prefix + clear),
                packages=packages,
                frames=self._inner(),
                file=self._file,
                gpu=gpu,
                chained=self._chained,
            )
        )
        self._chained = False

    def _inner(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reversed(self._frames)))

    def _keep(self, found: Raised) -> None:
        if len(self.log.raised) > KEPT:
            self.log.raised[-1] = found
        else:
            self.log.raised.append(found)
        self._kept = True


def scan(pieces: Iterable[bytes]) -> Log:
    """What a log says."""
    scanner = Scanner()
    for piece in pieces:
        scanner.feed(piece)
    return scanner.close()


def _numbered(line: bytes) -> bool:
    return any(word in line for word in _NUMBERED)


def _rank(text: str) -> int | None:
    found = _RANK.search(text)
    return int(next(group for group in found.groups() if group)) if found else None


def _shown(text: str, row: Symptom) -> str:
    """A line, cut to what is read at a glance; where much stands before the message, that goes first."""
    text = " ".join(text.split())
    low = text.lower()
    place = min((at for part in row.has if (at := low.find(part)) >= 0), default=0)
    begin = 0 if place < SHOWN // 2 else max(text.rfind("] ", 0, place) + 2, place - SHOWN // 4)
    return text[begin : begin + SHOWN]
