"""The rows that come of the runs of the quick suite and of the peers beside it."""

import statistics
from collections.abc import Sequence

from doctor import Key
from rounds import Beside, Rounds, sizes
from rows import Row, variation

WITHIN, OF_SWEEP, OF_TRIAD = 0.03, 0.95, 0.97
AFTER_IMPORT, IN_ALL = 10.0, 15.0  # seconds
STEADY = 0.02
FAMILIES = ("products", "copies", "memory", "pace", "variation", "clean")
TITLES = {
    "products": "matmul beside triton.testing.do_bench(torch.mm)",
    "copies": "pinned copies beside copies.cu",
    "memory": "device memory bandwidth beside a Triton triad",
    "pace": "the quick suite with PyTorch",
}
# Figures whose variation has a goal: those that checks hold against the device's limits. The host has a part in others.
JUDGED = (("matmul", "rate"), ("transfer", "h2d pinned"), ("transfer", "d2h pinned"), ("bandwidth", "copy"),
          ("bandwidth", "triad"), ("bandwidth", "read"))  # fmt: skip


def rows(rounds: Rounds, beside: Beside, names: Sequence[str], gpu: str | None) -> list[Row]:
    """The rows of the families that are wanted.

    Args:
        rounds: what was gathered.
        beside: the peers.
        names: of the families.
        gpu: why nothing can be said of a GPU; None: there is one.
    """
    found: list[Row] = []
    makers = {"products": _product_rows, "copies": _copy_rows, "memory": _memory_rows}
    for name in [name for name in FAMILIES if name in names]:
        why = gpu if name in TITLES else None
        why = why or beside.why.get(name)
        if why:
            found.append(Row(TITLES[name], why=why))
        elif name in makers:
            found += makers[name](rounds)
    if "pace" in names and not gpu:
        found += _pace_rows(rounds)
    if "variation" in names:
        found += _variation_rows(rounds, judged=not gpu)
    if "clean" in names:
        found.append(_clean_row(rounds))
    return found


def _ours(rounds: Rounds, *key: str, first: int | None = None) -> float | None:
    values = [value for run in rounds.runs[:first] if (value := run.value(*key)) is not None]
    return statistics.median(values) if values else None


def _product_rows(rounds: Rounds) -> list[Row]:
    found, count = [], len(rounds.products)
    for dtype, size in sizes(rounds.runs[0]).items():
        what = f"matmul {dtype}, {size} x {size}"
        ours = _ours(rounds, "matmul", dtype, "rate", first=count)
        peers = [each[dtype] for each in rounds.products if dtype in each]
        if not peers or ours is None:
            found.append(Row(f"{what}: beside do_bench(torch.mm)", why=_reason(rounds, "torch.mm"), failed=True))
            continue
        median = statistics.median(peers)
        beside, why = f"{what}: beside do_bench(torch.mm)", f"{count} rounds"
        found.append(Row(beside, ours, median, "TFLOP/s", "within", WITHIN, why))
        if dtype in rounds.sweep:
            found.append(Row(f"{what}: of the best of a sweep", ours, rounds.sweep[dtype], "TFLOP/s", ">=", OF_SWEEP))
    return found or [Row(TITLES["products"], why=_reason(rounds, "products"), failed=True)]


def _copy_rows(rounds: Rounds) -> list[Row]:
    if not rounds.copies:
        return [Row(TITLES["copies"], why=_reason(rounds, "copies"), failed=True)]
    found, said = [], rounds.copies[-1]
    for way in ("h2d", "d2h"):
        ours = _ours(rounds, "transfer", "", f"{way} pinned", first=len(rounds.copies))
        peers = statistics.median(each[way] for each in rounds.copies)
        what = f"{way} pinned, {said['bytes'] >> 20} MiB: beside copies.cu"
        why = f"{len(rounds.copies)} rounds, {said['affinity']}" if ours is not None else "the test told no such figure"
        found.append(Row(what, ours, peers, "GB/s", "within", WITHIN, why, failed=ours is None))
    return found


def _memory_rows(rounds: Rounds) -> list[Row]:
    if not rounds.memory:
        return [Row(TITLES["memory"], why=_reason(rounds, "memory"), failed=True)]
    found, count = [], len(rounds.memory)
    for name in ("triad", "copy"):
        ours = _ours(rounds, "bandwidth", "", name, first=count)
        peers = statistics.median(each[name] for each in rounds.memory)
        sign, goal = (">=", OF_TRIAD) if name == "triad" else ("", None)
        beside = "a Triton kernel" if name == "triad" else "do_bench(copy_)"
        why = f"{count} rounds" if ours is not None else "the test told no such figure"
        found.append(Row(f"device memory, {name}: beside {beside}", ours, peers, "GB/s", sign, goal, why, ours is None))
    return found


def _reason(rounds: Rounds, name: str) -> str:
    """Why a peer told nothing."""
    return next((line for line in rounds.failed if line.startswith(name)), "it was not reached")


def _pace_rows(rounds: Rounds) -> list[Row]:
    after = [
        (entry["start_seconds"] or 0.0) + sum(test["seconds"] or 0.0 for test in entry["tests"])
        for run in rounds.runs
        for entry in run.report["smoke"]
    ]
    imports = [entry["import_seconds"] or 0.0 for run in rounds.runs for entry in run.report["smoke"]]
    walls = [run.seconds for run in rounds.runs]
    why = f"first {walls[0]:.1f} s, imports {statistics.median(imports):.1f} s, {len(walls)} runs"
    return [
        Row("the quick suite after the import", statistics.median(after), None, "s", "<=", AFTER_IMPORT),
        Row("`gpudoctor smoke`, wall time in all", statistics.median(walls), None, "s", "<=", IN_ALL, why),
    ]


def _variation_rows(rounds: Rounds, judged: bool) -> list[Row]:
    """The variation of every rate over the runs; worst first."""
    if len(rounds.runs) < 3:
        return [Row("coefficient of variation over the runs", why="it takes three runs")]
    values: dict[Key, list[float]] = {}
    for run in rounds.runs:
        for key, figure in run.figures().items():
            if figure["unit"] in ("TFLOP/s", "GB/s", "images/s"):
                values.setdefault(key, []).append(figure["value"])
    found = []
    for key, each in sorted(values.items(), key=lambda pair: -variation(pair[1])):
        has_goal = judged and (key[0], key[2]) in JUDGED
        sign, goal = ("<=", STEADY) if has_goal else ("", None)
        what = " ".join(filter(None, key))
        why = f"{len(each)} runs, {min(each):.4g} to {max(each):.4g}"
        found.append(Row(f"variation: {what}", variation(each), None, "", sign, goal, why))
    return found


def _clean_row(rounds: Rounds) -> Row:
    """Findings on a machine that is taken for healthy."""
    found = [line for run in rounds.runs for line in run.findings()]
    why = f"{len(rounds.runs)} runs" + "".join(f"; {count} x {line}" for line, count in _counted(found))
    return Row("findings of the area smoke in clean runs", float(len(found)), None, "", "<=", 0.0, why)


def _counted(lines: list[str]) -> list[tuple[str, int]]:
    return sorted(((line, lines.count(line)) for line in set(lines)), key=lambda pair: -pair[1])
