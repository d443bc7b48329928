"""PyTorch's flight recorder: what each rank's dump says of the collectives, and which rank the others waited for.

Source: torch/csrc/distributed/c10d/FlightRecorder.hpp (versions 2.1 to 2.10 of the dump), written as
TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_TEMP_FILE with the rank behind it, /tmp/nccl_trace_rank_0 by default.
"""

import json
import os
import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import IO, Any

import msgspec

from gpudoctor.report.numbers import spans

# Larger ones are not read: a dump holds some 2000 entries, a megabyte or two.
LARGEST = 64 << 20
_NAME = re.compile(r"(?:trace|rank|fr|dump)[\w.-]*?(\d+)(?:\.json|\.pkl)?$")
# Collectives to which every rank gives a tensor of the same size.
_ALIKE = ("all_reduce", "allreduce", "broadcast", "_all_gather_base", "_reduce_scatter_base")


class Collective(msgspec.Struct, frozen=True):
    """One entry: its number in the process group, what was called, sizes, state, and the user's line that called it."""

    number: int
    name: str
    sizes: str
    state: str
    where: str


class Dump(msgspec.Struct, frozen=True):
    """The dump of one rank: by process group, the last collective that was enqueued, and the entries."""

    rank: int
    groups: dict[str, tuple[int, ...]]  # the ranks of each process group, where the dump tells
    enqueued: dict[str, int]
    entries: dict[str, tuple[Collective, ...]]


def dumps(paths: Iterable[str]) -> tuple[Dump, ...]:
    """The dumps among some files; what is none is left out."""
    found = (dump for path in paths if (dump := read(path)) is not None)
    return tuple(sorted(found, key=lambda one: one.rank))


def is_dump(path: str) -> bool:
    """Whether a file has the name of a dump and begins as one: "rank0" may be a log, too."""
    if _NAME.search(os.path.basename(path)) is None:
        return False
    try:
        with open(path, "rb") as file:
            return file.read(1) == (b"{" if path.endswith(".json") else pickle.PROTO)
    except OSError:
        return False


def read(path: str) -> Dump | None:
    """The dump in a file, a pickle or JSON; None where it is none.

    A pickle may name any code to run; here it can only hold numbers, texts and their collections.
    """
    match = _NAME.search(os.path.basename(path))
    try:
        if match is None or os.path.getsize(path) > LARGEST:
            return None
        with open(path, "rb") as file:
            found = json.load(file) if file.peek(1)[:1] == b"{" else _Plain(file).load()
        return _dump(int(match[1]), found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, pickle.UnpicklingError):
        return None


class _Plain(pickle.Unpickler):
    """Reads a pickle without classes."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a dump")


def _dump(rank: int, found: dict[str, Any]) -> Dump:
    entries: dict[str, list[Collective]] = defaultdict(list)
    for one in found["entries"]:
        if not one.get("is_p2p"):
            entries[_group(one)].append(_collective(one))
    config = found.get("pg_config") or {}
    groups = {str(name): _ranks(one.get("ranks")) for name, one in config.items() if isinstance(one, dict)}
    enqueued = {name: max(one.number for one in of_group) for name, of_group in entries.items()}
    for name, status in (found.get("pg_status") or {}).items():
        enqueued[str(name)] = max(enqueued.get(str(name), 0), int(status["last_enqueued_collective"]))
    return Dump(rank, groups, enqueued, {name: tuple(of_group) for name, of_group in entries.items()})


def _group(entry: dict[str, Any]) -> str:
    name = entry.get("process_group")
    return str(name[0]) if isinstance(name, list | tuple) and name else str(entry.get("pg_id", 0))


def _ranks(text: object) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", str(text))))


def _collective(entry: dict[str, Any]) -> Collective:
    frames = entry.get("frames") or []
    own = [one for one in frames if "/torch/" not in str(one.get("filename")) and one.get("filename")]
    where = f"{own[0]['filename']}:{own[0]['line']}" if own else ""
    name = str(entry.get("profiling_name", "?")).rpartition(":")[2]
    number = entry.get("collective_seq_id", entry.get("seq_id", 0))
    return Collective(int(number), name, str(entry.get("input_sizes", "")), str(entry.get("state", "")), where)


def sentences(found: Sequence[Dump]) -> tuple[str, ...]:
    """What the dumps of a job's ranks show: who called another collective, who is behind, who wrote none."""
    reported: list[str] = []
    for group in sorted({name for dump in found for name in dump.enqueued}):
        reported += _mismatch(found, group) or _behind(found, group)
    ranks = {rank for dump in found for rank in dump.groups.get("0", dump.groups.get("", ()))}
    silent = sorted(ranks - {dump.rank for dump in found})
    if silent:
        reported.append(f"No dump of rank {spans(silent)}: it ended before, or could not write one.")
    return tuple(reported)


def _mismatch(found: Sequence[Dump], group: str) -> list[str]:
    """The first collective of a group for which the ranks called different ones, or with different sizes."""
    calls: dict[int, dict[int, Collective]] = defaultdict(dict)
    for dump in found:
        for one in dump.entries.get(group, ()):
            calls[one.number][dump.rank] = one
    for number in sorted(calls):
        kinds: dict[tuple[str, str], list[int]] = defaultdict(list)
        for rank, one in calls[number].items():
            kinds[one.name, one.sizes if one.name in _ALIKE else ""].append(rank)
        if len(kinds) > 1:
            parts = [_called(ranks, calls[number][ranks[0]]) for ranks in kinds.values()]
            return [f"Collective {number} of process group {group} differs between ranks: {'; '.join(parts)}."]
    return []


def _called(ranks: list[int], one: Collective) -> str:
    return f"rank {spans(ranks)} called {one.name} {one.sizes}" + (f" at {one.where}" if one.where else "")


def _behind(found: Sequence[Dump], group: str) -> list[str]:
    """The ranks that did not reach the collective in which the others wait."""
    enqueued = {dump.rank: dump.enqueued[group] for dump in found if group in dump.enqueued}
    last = max(enqueued.values(), default=0)
    behind = sorted(rank for rank, number in enqueued.items() if number < last)
    if not behind:
        return []
    waits = next(dump for dump in found if enqueued.get(dump.rank) == last)
    call = next((one for one in waits.entries.get(group, ()) if one.number == last), None)
    what = f"{call.name} (collective {last})" if call else f"collective {last}"
    at = f", called at {call.where}" if call and call.where else ""
    own = next(dump for dump in found if dump.rank == behind[0])
    done = own.entries.get(group, ())
    after = f"; its last call was at {done[-1].where}" if done and done[-1].where else ""
    return [
        f"Rank {spans(behind)} did not reach {what} of process group {group}{at}: the other ranks waited for "
        f"{'it' if len(behind) == 1 else 'them'}{after}."
    ]
