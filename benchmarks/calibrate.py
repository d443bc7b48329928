"""Numbers of one GPU that gpudoctor's thresholds rest on, from reports that smoke.py kept and from programs beside it.

    python benchmarks/calibrate.py --reports FOLDER --python PYTHON

It writes a table, and calibration.json beside the reports. It judges nothing; docs/measurements.md says to which
threshold each number belongs.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doctor import HERE, ROOT, Run, looked
from rounds import lines_of
from rows import Row
from smoke import about, beside

sys.path.insert(0, str(ROOT))

from gpudoctor.knowledge.gpu_peaks import per_clock

COPIES = ("64", "256", "512", "256", "512")  # MiB; the first lets the link train up
SHOWN = ("first call", "error", "loss error", "gradient error", "step error", "descent", "overlap", "duplex",
         "difference", "scale", "speed-up", "speed-up 1", "speed-up 256")  # fmt: skip


def figures(runs: list[Run]) -> Iterator[Row]:
    """Median, least and most of what the reports tell."""
    values: dict[tuple[str, str, str], list[float]] = {}
    units = {}
    for run in runs:
        for key, figure in run.figures().items():
            values.setdefault(key, []).append(figure["value"])
            units[key] = figure
    for key, each in sorted(values.items()):
        limit = units[key].get("limit")
        why = f"{min(each):.4g} to {max(each):.4g} in {len(each)} runs"
        if limit:
            why += f"; {statistics.median(each) / limit:.1%} of {limit:.4g}"
        if key[2] in SHOWN or limit:
            yield Row(" ".join(filter(None, key)), statistics.median(each), None, units[key]["unit"], why=why)


def notes(runs: list[Run]) -> Iterator[Row]:
    """What was counted, and what the driver said meanwhile."""
    for name in ("not_repeated", "differing", "wrong", "worst_ratio", "part_error"):
        found = [t["notes"][name] for run in runs for t in run.tests() if t["notes"].get(name) is not None]
        if found:
            yield Row(f"notes: {name}, most", max(found), why=f"least {min(found):.4g}, {len(found)} readings")
    seconds = {"import": "import_seconds", "start": "start_seconds"}
    for what, name in seconds.items():
        taken = [entry[name] for run in runs for entry in run.report["smoke"] if entry[name]]
        if taken:
            yield Row(f"seconds of {what}", statistics.median(taken), None, "s", why=f"first {taken[0]:.2f}")
    links = {(t["during"].get("link_generation"), t["during"].get("link_width")) for run in runs for t in run.tests()
             if t["test"] == "transfer"}  # fmt: skip
    yield Row("PCIe generation and width under load", why=str(sorted(links, key=str)))


def clocks(runs: list[Run], processors: float | None, capability: float | None) -> Iterator[Row]:
    """Of each data type the rate over what the processors could do at the clock that was seen."""
    name = next((entry["name"] for run in runs for entry in run.report["smoke"] if entry["name"]), "")
    tests = [test for run in runs for test in run.tests() if test["test"] == "matmul"]
    for dtype in dict.fromkeys(test["variant"] for test in tests):
        pairs = [
            (figure["value"], test["during"].get("sm_clock"))
            for test in tests
            if test["variant"] == dtype
            for figure in test["figures"]
            if figure["name"] == "rate"
        ]
        seen = [(rate, clock) for rate, clock in pairs if isinstance(clock, int | float) and clock]
        each = per_clock(str(capability), name, dtype)
        if not seen or not processors or not each:
            yield Row(f"e_clk {dtype}", why=f"clocks {[clock for _, clock in pairs][:3]}, per clock {each}")
            continue
        shares = [rate * 1e12 / (processors * clock * 1e6 * each) for rate, clock in seen]
        said = sorted(clock for _, clock in seen)
        reasons = sorted({str(t["during"].get("reasons")) for t in tests if t["variant"] == dtype})
        why = f"{min(shares):.3f} to {max(shares):.3f}; clocks {said[0]:.0f} to {said[-1]:.0f} MHz; {' '.join(reasons)}"
        yield Row(f"e_clk {dtype}", statistics.median(shares), why=why)


def asked(argv: list[str]) -> list[Row]:
    """What a program beside it tells."""
    try:
        reported = lines_of(argv)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return [Row(Path(argv[1] if len(argv) > 1 else argv[0]).name, why=str(error)[-300:], failed=True)]
    return [Row(line["what"], line["value"], None, line["unit"], why=line["why"]) for line in reported]


def copies(program: str | None) -> Iterator[Row]:
    """GB/s by size."""
    if program is None:
        return
    try:
        for reported in lines_of([program, *COPIES]):
            size = int(reported["bytes"]) >> 20
            for way in ("h2d", "d2h"):
                yield Row(f"copies.cu: {way} pinned, {size} MiB", reported[way], None, "GB/s", why=reported["affinity"])
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        yield Row("copies.cu", why=str(error)[-300:], failed=True)


def main() -> int:
    """Gather and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=Path, required=True, help="the directory that smoke.py --keep filled")
    parser.add_argument("--python", required=True, help="the interpreter with PyTorch")
    arguments = parser.parse_args()
    runs = [Run.read(path.read_text(), 0.0) for path in sorted(arguments.reports.glob("report-*.json"))]
    numbers = asked([arguments.python, str(HERE / "peers" / "gpu_numbers.py")])
    known: dict[str, Any] = {row.what: row.ours for row in numbers}
    with tempfile.TemporaryDirectory() as folder:
        peers = beside(arguments.python, Path(folder))
        rows = [
            *numbers,
            *clocks(runs, known.get("streaming multiprocessors"), known.get("compute capability")),
            *figures(runs),
            *notes(runs),
            *copies(None if "copies" in peers.why else peers.copies),
            *asked([sys.executable, str(HERE / "peers" / "nvml_times.py")]),
        ]
    head = about(looked(), arguments.python)
    reported = json.dumps({"about": head, "rows": [row.plain() for row in rows]}, indent=2) + "\n"
    arguments.reports.mkdir(parents=True, exist_ok=True)
    (arguments.reports / "calibration.json").write_text(reported)
    lines = [f"{key:<10} {value}" for key, value in head.items()]
    sys.stdout.write("\n".join([*lines, "", *(row.line() for row in rows)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
