"""Lines of a kernel log: taken apart, put together where a message has several, and recognised."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.facts.kernel_log import LogEvent
from gpudoctor.knowledge import kernel_log
from gpudoctor.lazy_regex import pattern
from gpudoctor.parsers.numbers import whole

# The kernel writes bytes below 32 and above 126 of a record as \x0a.
_ESCAPED = pattern(r"\\x([0-9a-f]{2})")
# "[    5.310021] text" of dmesg, and journalctl's "[    5.310021] host kernel: text".
_STAMPED = pattern(r"\[\s*([0-9]{1,12}\.[0-9]{1,9})\] ?(?:\S+ kernel: )?(.*)")
# "[Sun Feb 23 16:24:18 2025] text" of dmesg -T, and "Feb 23 16:24:18 host kernel: text" of syslog files.
_DATED = pattern(r"(?:\[\w{3} \w{3} [\d :]+\] ?|\w{3} +\d+ [\d:]+ \S+ kernel: (?:\[\s*[\d.]+\] )?)(.*)")
_INDENTED = pattern(r"\s+NVRM:\s*|\s{4,}(?=\S)")
# A line of NVRM's that begins with a small word goes on with the sentence of the line before.
_CONTINUED = pattern(r"NVRM: +(?!loading )[a-z]+ ")
_ENDED = pattern(r"[.!?:)]\s*$")
# Parts of one message are written by one call, or by calls that follow each other at once.
AT_ONCE = 2.0
LONGEST = 2000
MOST_LINES = 20


# Seconds since boot, text, level.
_Line = tuple[float | None, str, int | None]


class Message(msgspec.Struct, frozen=True):
    """One message: seconds since boot, its lines, and its level (0 to 7) where the log knows levels."""

    seconds: float | None
    lines: tuple[str, ...]
    level: int | None = None

    @property
    def text(self) -> str:
        """The lines as one, each but the first without NVRM's name."""
        rest = (re.sub(r"^\s*NVRM:\s*", "", line).strip() for line in self.lines[1:])
        return " ".join([self.lines[0].strip(), *rest])


def from_kmsg(records: Iterable[str]) -> list[Message]:
    """Return the messages of /dev/kmsg's records (Documentation/ABI/testing/dev-kmsg).

    A record is "4,1187,5310021,-;text": priority, number, microseconds, flags. Lines with a space in front hold
    keys of the record, and are passed over.
    """
    found: list[_Line] = []
    for record in records:
        for line in record.split("\n"):
            head, semicolon, text = line.partition(";")
            numbers = head.split(",")
            microseconds = whole(numbers[2]) if semicolon and len(numbers) >= 3 else None
            if microseconds is None:
                continue
            seconds, priority = microseconds / 1e6, whole(numbers[0])
            level = None if priority is None else priority & 7  # the higher bits are the facility
            if "\\x" in text:
                text = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text)
                found.extend((seconds, part, level) for part in text.split("\n") if part.strip())
            else:
                found.append((seconds, text, level))
    # A log in which all lines have one level was copied there by a program, and knows none.
    if len({level for _, _, level in found}) < 2:
        found = [(seconds, text, None) for seconds, text, _ in found]
    return joined(found)


def from_text(lines: Iterable[str]) -> list[Message]:
    """Return the messages of what dmesg or journalctl prints; a line without a time goes with the one before."""
    found: list[_Line] = []
    last: float | None = None
    for line in lines:
        stamped = _STAMPED.match(line)
        dated = None if stamped else _DATED.match(line)
        if stamped:
            last = float(stamped[1])
        elif dated:
            last = None
        text = stamped[2] if stamped else dated[1] if dated else line
        if text.strip():
            found.append((last, text, None))
    return joined(found)


def joined(lines: Iterable[_Line]) -> list[Message]:
    """Put the lines of NVIDIA's messages together: indented ones, and those that go on with a sentence."""
    found: list[tuple[float | None, list[str], int | None]] = []
    last: float | None = None
    for seconds, line, level in lines:
        at_once = seconds is None or last is None or seconds - last <= AT_ONCE
        if found and at_once and _belongs(found[-1][1], line):
            found[-1][1].append(line)
        else:
            found.append((seconds, [line], level))
        last = seconds
    return [Message(seconds, tuple(texts), level) for seconds, texts, level in found]


def _belongs(before: list[str], line: str) -> bool:
    if "NVRM" not in before[0] or len(before) > MOST_LINES:
        return False
    return bool(_INDENTED.match(line) or (_CONTINUED.match(line) and not _ENDED.search(before[-1])))


def recognised(message: Message) -> Iterator[LogEvent]:
    """Yield what a message says: first as a whole, then what its lines say besides."""
    if len(message.lines) == 1:  # nearly all are, of thousands
        line = message.lines[0]
        event = kernel_log.recognise(line) or kernel_log.driver_error(line, message.level)
        if event:
            yield _fact(event, message)
        return
    seen: dict[str, kernel_log.RecognizedLine] = {}
    for line in (message.text, *message.lines):
        event = kernel_log.recognise(line)
        if event and (event.kind not in seen or (event.gpu and not seen[event.kind].gpu)):
            seen[event.kind] = event
    if not seen and (event := kernel_log.driver_error(message.text, message.level)):
        seen[event.kind] = event
    for event in seen.values():
        yield _fact(event, message)


def _fact(event: kernel_log.RecognizedLine, message: Message) -> LogEvent:
    code = event.number
    parts = {
        "code": event.code if code is None else None,
        "module": event.module,
        "branch": event.branch,
        "driver": event.driver,
        "pid": event.pid,
        "process": event.process,
        "device": event.device,
        "text": event.text,
    }
    return LogEvent(
        kind=event.kind,
        text=message.text[:LONGEST],
        seconds=message.seconds,
        gpu=event.gpu,
        code=code,
        what={name: str(part) for name, part in parts.items() if part is not None},
    )
