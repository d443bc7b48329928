"""`python -m tests.symptoms.corpus`: figures per subject; `--misses` lists them, `--close` drops outdated `open`."""

import re
import sys
from collections.abc import Sequence

from tests.symptoms.corpus import HERE, Row, answer, missed, rows

COLUMNS = ("rows", "root", "fix", "command", "harmful", "quiet", "open")
LINE = "{:14}" + "{:>10}" * len(COLUMNS) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write what was asked for; 0: every row is answered."""
    if "--close" in arguments:
        return _close()
    if "--misses" in arguments:
        for row in rows():
            for one in missed(row):
                sys.stdout.write(f"{row.id} ({row.source}) {one}\n")
        return int(any(missed(row) for row in rows()))
    subjects = list(dict.fromkeys(row.subject for row in rows()))
    sys.stdout.write(LINE.format("", *COLUMNS))
    for subject in subjects:
        sys.stdout.write(_line(subject, [row for row in rows() if row.subject == subject]))
    for kind in ("fault", "not-gpu", "noise"):
        sys.stdout.write(_line(f"all {kind}", [row for row in rows() if row.kind == kind]))
    return int(any(row.open for row in rows()))


def _line(name: str, of: Sequence[Row]) -> str:
    """The figures of some rows: how many are right of those where it can be right."""
    found = [(row, answer(row)) for row in of]
    faults = [(row, one) for row, one in found if row.kind == "fault"]
    named = [one.root for row, one in found if row.kind != "noise"]
    quiet = [one.first is None for row, one in found if row.kind == "noise"]
    quiet += [one.root or not one.known for row, one in found if row.kind == "not-gpu"]
    return LINE.format(
        name,
        len(of),
        _share(named),
        _share([one.fix for row, one in faults if row.fix]),
        _share([one.fix and one.command for row, one in faults if row.command]),
        sum(bool(one.harmful) for _, one in found),
        _share(quiet),
        sum(bool(row.open) for row in of),
    )


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right)}/{len(right)}" if right else "-"


def _close() -> int:
    """Drop `open` from the rows that are answered now."""
    done = {row.id for row in rows() if row.open and not missed(row)}
    for path in sorted(HERE.glob("*.toml")):
        head, *parts = re.split(r"(?m)^(?=\[\[row\]\]$)", path.read_text(encoding="utf-8"))
        for number, part in enumerate(parts):
            name = re.search(r'(?m)^name = "(.*)"$', part)
            if name and f"{path.stem}/{name[1]}" in done:
                parts[number] = re.sub(r'(?m)^open = ".*"\n', "", part)
        path.write_text(head + "".join(parts), encoding="utf-8")
    sys.stdout.write(f"{len(done)} rows closed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
