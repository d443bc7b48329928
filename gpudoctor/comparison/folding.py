"""Equal differences of several GPUs as one row: eight cards of a node mostly differ alike."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.comparison.model import Difference

_NUMBERED = re.compile(r"(gpus\.|pci\.\w+ |nvidia\.cuda\.devices\.|nvidia\.kernel\.nodes\./dev/nvidia)(\d+)(.*)")


def folded(rows: Iterable[Difference]) -> list[Difference]:
    """The rows, those of several GPUs that say the same as one: "gpus.0-3,6.persistence"."""
    groups: dict[tuple[object, ...], list[Difference]] = {}
    for row in rows:
        match = _NUMBERED.fullmatch(row.path)
        name = (match[1], match[3]) if match else (row.path,)
        groups.setdefault((name, row.group, row.state, row.here, row.there), []).append(row)
    return [_one(same) for same in groups.values()]


def _one(rows: Sequence[Difference]) -> Difference:
    matches = [_NUMBERED.fullmatch(row.path) for row in rows]
    numbers = [int(match[2]) for match in matches if match]
    if len(numbers) < 2 or matches[0] is None:
        return rows[0]
    return msgspec.structs.replace(rows[0], path=f"{matches[0][1]}{ranges(numbers)}{matches[0][3]}")


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in few words: "0-3,6"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
