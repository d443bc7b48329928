"""The logs of a job's ranks, read together: who failed first, who waited for whom, and who is silent."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.report.model import RankEntry, Role
from gpudoctor.report.numbers import spans
from gpudoctor.symptoms.log import Hit, Log, Raised

# Where the rank is in a file's name: torchrun's --log-dir (attempt_0/3/stderr.log), rank_3.log, slurm's %t.
_NAMES = (
    re.compile(r"(?:rank|worker|task|proc)[_.-]?(\d+)", re.I),
    re.compile(r"(?:^|/)(\d+)/(?:stdout|stderr|[\w-]+\.log)[^/]*$"),
    re.compile(r"(\d+)\.(?:log|out|err|txt)$"),
)
# 2026-11-20 12:00:01.5, and glog's E1120 12:00:01.5, which has no year.
_MOMENT = re.compile(r"(?:\d{4}-|\b[EWIF])(\d\d)-?(\d\d)[ T](\d\d:\d\d:\d\d(?:[.,]\d+)?)")
# What the watchdog of PyTorch's process group says of the work it waits for (ProcessGroupNCCL.cpp).
_WORK = re.compile(r"last enqueued(?: NCCL)? work: (-?\d+), last completed(?: NCCL)? work: (-?\d+)", re.I)
_ORDER: tuple[Role, ...] = ("first", "failed", "behind", "silent", "waited", "ok")


class RankLog(msgspec.Struct, frozen=True):
    """The log of one rank; rank None: neither its name nor its lines tell."""

    path: str
    log: Log
    rank: int | None


def ranked(logs: Sequence[tuple[str, Log]]) -> tuple[RankLog, ...]:
    """The logs with their ranks: as the files are named, or else as their lines say."""
    for expression in _NAMES:
        found = [expression.findall(path) for path, _ in logs]
        numbers = [int(one[-1]) for one in found if one]
        if len(set(numbers)) == len(logs):
            return tuple(RankLog(path, log, int(one[-1])) for (path, log), one in zip(logs, found, strict=True))
    return tuple(RankLog(path, log, _of_lines(log)) for path, log in logs)


def _of_lines(log: Log) -> int | None:
    every: list[Hit | Raised] = [*log.hits.values(), *log.raised]
    named = Counter(one.rank for one in every if one.rank is not None)
    return named.most_common(1)[0][0] if named else None


def entries(logs: Sequence[RankLog]) -> tuple[RankEntry, ...]:
    """What became of each rank: the first to fail, the others that failed, those that waited, and those silent."""
    causes = {id(one): _cause(one.log) for one in logs}
    failed = [one for one in logs if causes[id(one)] is not None]
    waited = [one for one in logs if causes[id(one)] is None and one.log.failed]
    first = min(failed, key=lambda one: (_moment(causes[id(one)]), _number(one)), default=None)
    behind = _behind(logs) if first is None else set()
    found = []
    for one in logs:
        cause = causes[id(one)]
        shown = cause or (_earliest(one.log) if one in waited else None)
        role: Role = "waited" if one in waited else "silent" if failed or waited else "ok"
        role = "first" if one is first else "failed" if cause else "behind" if id(one) in behind else role
        found.append(
            RankEntry(
                rank=one.rank,
                log=os.path.normpath(one.path),
                role=role,
                line=shown.line if shown else 0,
                message=shown.text if shown else "",
                lines=one.log.lines,
            )
        )
    return tuple(sorted(found, key=lambda one: (_ORDER.index(one.role), one.rank if one.rank is not None else 1 << 31)))


def decisive(logs: Sequence[RankLog], found: Sequence[RankEntry]) -> Log:
    """The log that tells the root: of the rank that failed first; else of the first that waited."""
    by_path = {os.path.normpath(one.path): one.log for one in logs}
    wanted = next(one for role in ("first", "behind", "waited", "ok", "silent") for one in found if one.role == role)
    return by_path[wanted.log]


def sentence(found: Sequence[RankEntry]) -> tuple[str, ...]:
    """What the ranks together show that no single log does."""
    roles: dict[str, list[int]] = defaultdict(list)
    for one in found:
        if one.rank is not None:
            roles[one.role].append(one.rank)
    said = []
    if roles["first"] and roles["waited"]:
        said.append(f"Rank {spans(roles['first'])} failed first; rank {spans(roles['waited'])} waited for it.")
    if roles["behind"]:
        said.append(f"Rank {spans(roles['behind'])} is behind the others: they waited for it.")
    elif not roles["first"] and roles["silent"] and roles["waited"]:
        said.append(
            f"Rank {spans(roles['silent'])} wrote no error while the others waited: it hung, was killed, or ran on."
        )
    return tuple(said)


def _cause(log: Log) -> Hit | Raised | None:
    """The error of a rank itself; None where it only waited for others, or has none."""
    own: list[Hit | Raised] = [hit for hit in log.hits.values() if hit.kind in ("error", "late")]
    waits = any(hit.kind == "waits" for hit in log.hits.values())
    own += [] if waits else log.raised
    return min(own, key=lambda one: one.line, default=None)


def _earliest(log: Log) -> Hit | Raised | None:
    every: Iterable[Hit | Raised] = (*log.hits.values(), *log.raised)
    return min(
        (one for one in every if not isinstance(one, Hit) or one.kind != "warning"),
        key=lambda one: one.line,
        default=None,
    )


def _moment(cause: Hit | Raised | None) -> str:
    """When it was written, so that texts sort as moments do; what has no time comes last."""
    lines = cause.lines if isinstance(cause, Hit) else [cause.text] if cause else []
    match = next((m for line in lines if (m := _MOMENT.search(line))), None)
    return f"{match[1]}{match[2]} {match[3].replace(',', '.')}" if match else "~"


def _number(one: RankLog) -> int:
    return one.rank if one.rank is not None else 1 << 31


def _behind(logs: Sequence[RankLog]) -> set[int]:
    """The logs whose process group had enqueued less than the others' had."""
    works = {}
    for one in logs:
        lines = [line for hit in one.log.hits.values() for line in hit.lines]
        if (match := next((m for line in lines if (m := _WORK.search(line))), None)) is not None:
            works[id(one)] = int(match[1])
    last = max(works.values(), default=0)
    return {key for key, number in works.items() if number < last}
