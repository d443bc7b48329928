"""The two lines above the list: the status in numbers, and how far the probes are."""

from __future__ import annotations

from collections.abc import Collection

from gpudoctor.report.counts import counts
from gpudoctor.report.model import Report
from gpudoctor.report.model import word as word_of
from gpudoctor.tui.session import ProbeProgress, Session

Part = tuple[str, str]  # text, and the name of its class
STATUS = {"fail": "fail", "warn": "warn", "pass": "pass", "no-gpu": "warn", "incomplete": "warn"}
BAR = 12


def summary(session: Session, width: int) -> list[Part]:
    """The status and its numbers; the last of them are left out where there is no room."""
    report = session.report
    if session.error:
        return [("ERROR", "heading fail"), ("  the checks themselves failed; r re-runs them", "")]
    if report is None:
        return [("CHECKING", "heading advice"), ("  no results yet", "dim")]
    word = "SO FAR" if session.running else word_of(report.status)
    style = "advice" if session.running and report.status != "fail" else STATUS.get(report.status, "warn")
    numbers, notice = counts(report), recorded(session)
    while len(numbers) > 2 and len(word) + 4 + len(", ".join(numbers)) + len(notice) > width:
        numbers.pop()
    text = "  " + ", ".join(numbers)
    gap = width - len(word) - len(text) - len(notice)
    return [(word, f"heading {style}"), (text, ""), *([(" " * gap + notice, "dim")] if notice and gap > 1 else [])]


def probes(session: Session, width: int, seconds: float = 0.0) -> list[Part]:
    """How far the probes are, which still run, and which failed."""
    if not session.source.live:
        return []
    ended, all_ = session.progress
    failed = [probe for probe in session.probes.values() if probe.state == "failed"]
    if not session.running:
        return _after(all_, failed, session.report, width)
    parts: list[Part] = [*_bar(ended, all_), (f" {ended} of {all_} probes, {seconds:.0f} s  ", "")]
    left = width - sum(len(text) for text, _ in parts)
    if failed:
        words = _cut(f"{len(failed)} failed: {failed[-1].label}: {failed[-1].error}", max(10, left * 2 // 3)) + "  "
        parts.append((words, "fail"))
        left -= len(words)
    labels = [probe.label for probe in session.probes.values() if probe.state == "running"]
    return [*parts, (_cut(", ".join(labels), left), "dim")]


def recorded(session: Session) -> str:
    """Whether these are facts of another machine or another time, where nothing can be fixed; empty: they are not."""
    if session.source.live:
        return ""
    created = session.report.created if session.report else ""
    return f"recorded {created[:10]} {created[11:16]} UTC" if len(created) >= 16 else "recorded facts"


def _after(number: int, failed: Collection[ProbeProgress], report: Report | None, width: int) -> list[Part]:
    if not number:
        return []
    if failed:
        names = "; ".join(f"{probe.label}: {probe.error}" for probe in failed)
        return [(_cut(f"{len(failed)} of {number} probes failed: {names}", width), "fail")]
    seconds = f" in {report.seconds:.1f} s" if report else ""
    return [(_cut(f"All {number} probes finished{seconds}", width), "dim")]


def again(check: str, ended: int, all_: int, width: int) -> list[Part]:
    """How far the run of one check is."""
    return [*_bar(ended, all_), (" " + _cut(f"re-checking {check}: {ended} of {all_} probes", width - BAR - 1), "")]


def _bar(ended: int, all_: int) -> list[Part]:
    done = round(BAR * ended / all_) if all_ else 0
    return [("━" * done, "pass"), ("─" * (BAR - done), "dim")]


def _cut(text: str, width: int) -> str:
    """At most `width` characters on one line."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
