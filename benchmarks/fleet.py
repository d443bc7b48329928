"""Measures how fast reports of a fleet are summed up, beside reading their bytes, jq and DuckDB; it never fails.

    python benchmarks/fleet.py [--nodes 10000,100000] [--rounds 7] [--duckdb-python PYTHON] [--smoke] [--json]

The reports are made up (fleet_reports.py) and lie in a temporary folder, some 90 MB for 10,000. jq is taken from PATH,
DuckDB from the interpreter that is named; what is missing is left out. All are asked the same: nodes by status,
findings by check, nodes by driver. The peers are asked about the first number of nodes only.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

MEMORY_GOAL, READ_GOAL, PEER_GOAL, GROWTH_GOAL = 60.0, 4.0, 4.0, 10.0
FORMATS = ("text", "json", "html", "csv", "parquet")
LIMIT = 1800.0  # seconds after which a child counts as hung
JQ = """reduce inputs as $line ({}; ($line | if .report then .report else . end) as $r
| .status[$r.status] += 1 | .driver[($r.machine.driver // "none")] += 1
| reduce $r.findings[] as $f (.; .check[$f.check] += 1))"""
COLUMNS = '{"status": "VARCHAR", "machine": "STRUCT(driver VARCHAR)", "findings": "STRUCT(\\"check\\" VARCHAR)[]"}'
DUCKDB = f"""
import sys, json, duckdb
kind, path = sys.argv[1:]
columns = {COLUMNS}
if kind == "lines":
    inner = ", ".join(f'"{{k}}" {{v}}' for k, v in columns.items())
    source = f"(select unnest(report) from read_json('{{path}}', format='newline_delimited', columns={{{{'report': 'STRUCT({{inner}})'}}}}))"
else:
    source = f"read_json('{{path}}/*.json', columns={{columns}})"
one = duckdb.connect()
one.execute("set enable_progress_bar = false")
one.execute(f"create temp table t as select status, machine.driver as driver, findings from {{source}}")
ask = lambda text: dict(one.execute(text).fetchall())
print(json.dumps(dict(
    status=ask("select status, count(*) from t group by 1"),
    driver=ask("select coalesce(driver, 'none'), count(*) from t group by 1"),
    check=ask("select f.check, count(*) from (select unnest(findings) f from t) group by 1"),
)))
"""  # noqa: E501, S608 - a program, and its paths are ours


def child(path: str, rounds: int) -> None:
    """In a process of its own: sum up and only read, in turn; then the answer, and the memory at its peak."""
    from gpudoctor.fleet.aggregate.report_sources import Sources
    from gpudoctor.fleet.aggregate.streaming import summed

    def summing() -> None:
        nonlocal fleet
        fleet = summed(Sources([path]))

    fleet: Any = None
    taken: dict[str, list[float]] = {"sum": [], "read": [], "plain": []}
    ways = {"sum": summing, "read": lambda: _read(path), "plain": lambda: _read_plainly(path)}
    for number in range(rounds + 1):  # the first warms the file cache
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            if number:
                taken[name].append(time.perf_counter() - begun)
    driver = next(one for one in fleet.drifts if one.fact == "nvidia.kernel.loaded")
    said = {
        "status": fleet.counts,
        "check": {one.check: one.times for one in fleet.causes},
        "driver": {driver.majority: driver.count} | {one.value: one.count for one in driver.departures},
    }
    sys.stdout.write(json.dumps({"taken": taken, "said": said, "drifts": len(fleet.drifts), "peak": _peak()}))


def _read(path: str) -> int:
    """Only the bytes, with as few calls as there can be."""
    total = 0
    if os.path.isfile(path):
        with open(path, "rb", buffering=0) as file:
            while data := file.read(1 << 20):
                total += len(data)
        return total
    with os.scandir(path) as found:
        for entry in found:
            file_number = os.open(entry.path, os.O_RDONLY)
            while data := os.read(file_number, 1 << 16):
                total += len(data)
            os.close(file_number)
    return total


def _read_plainly(path: str) -> int:
    """Only the bytes, as a script would read them: file by file, or line by line."""
    if os.path.isfile(path):
        with open(path, "rb") as lines:
            return sum(map(len, lines))
    total = 0
    for name in os.listdir(path):
        with open(os.path.join(path, name), "rb") as file:
            total += len(file.read())
    return total


def _peak() -> float:
    """MiB: the largest resident set of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def in_child(path: Path, rounds: int) -> dict[str, Any]:
    """What a child measured."""
    argv = [sys.executable, __file__, "--child", str(path), "--rounds", str(rounds)]
    said = subprocess.run(argv, capture_output=True, check=True, timeout=LIMIT, env=_plain())
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def peaks(path: Path, folder: Path) -> dict[str, float]:
    """MiB at the peak of `gpudoctor fleet report` in each format."""
    found = {}
    for form in FORMATS:
        argv = [sys.executable, "-m", "gpudoctor", "fleet", "report", str(path), "--format", form, "--output"]
        number = os.posix_spawn(sys.executable, [*argv, str(folder / f"summary.{form}")], _plain())
        found[form] = os.wait4(number, 0)[2].ru_maxrss / 1024
    return found


def peers(kind: str, path: Path, duckdb: str | None) -> dict[str, list[str]]:
    """The command lines that answer the same question about a folder, or a file of lines."""
    found = {"gpudoctor": [sys.executable, "-m", "gpudoctor", "fleet", "report", str(path), "--json"]}
    if shutil.which("jq"):
        give = 'find "$1" -name "*.json" -print0 | xargs -0 cat' if kind == "folder" else 'cat "$1"'
        found["jq"] = ["sh", "-c", f'{give} | jq -n "$2"', "sh", str(path), JQ]
    if duckdb:
        found["DuckDB"] = [duckdb, "-c", DUCKDB, kind, str(path)]
    return found


def beside(commands: dict[str, list[str]], rounds: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Whole processes in turn: seconds of each, and what each answered."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    said: dict[str, Any] = {}
    for number in range(rounds + 1):
        for name, argv in commands.items():
            begun = time.perf_counter()
            ended = subprocess.run(argv, capture_output=True, timeout=LIMIT, env=_plain(), cwd=ROOT)
            if number:
                taken[name].append(time.perf_counter() - begun)
            if name != "gpudoctor" and (ended.returncode or ended.stderr):
                raise RuntimeError(f"{name}: {ended.stderr.decode()[:500]}")
            said[name] = json.loads(ended.stdout)
    return taken, said


def _plain() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {"PYTHONPATH": str(ROOT)}


def measured(count: int, rounds: int, smoke: bool, duckdb: str | None, with_peers: bool) -> dict[str, Any]:
    """Everything about so many nodes."""
    from fleet_reports import written

    with tempfile.TemporaryDirectory() as temporary:
        folder, lines = Path(temporary) / "reports-of-nodes", Path(temporary) / "all.jsonl"
        folder.mkdir()
        size = sum((folder / f"{name}.json").stat().st_size for name in written(folder, count, smoke))
        argv = [sys.executable, "-m", "gpudoctor", "fleet", "merge", str(folder), "-o", str(lines)]
        subprocess.run(argv, check=True, capture_output=True, env=_plain(), cwd=ROOT)
        found: dict[str, Any] = {"nodes": count, "bytes": size}
        for kind, path in (("folder", folder), ("lines", lines)):
            found[kind] = in_child(path, rounds)
            found[kind]["formats"] = peaks(path, Path(temporary))
            if with_peers:
                taken, said = beside(peers(kind, path, duckdb), max(3, rounds // 2))
                found[kind]["beside"] = taken
                found[kind]["agree"] = all(
                    Counter(answer[key]) == Counter(found[kind]["said"][key])
                    for name, answer in said.items()
                    if name != "gpudoctor"
                    for key in ("status", "check", "driver")
                )
    return found


def ratio(above: list[float], below: list[float]) -> float:
    """The median of the ratios of neighbours: what slows the machine down for a while slows both."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def table(found: dict[str, Any]) -> list[str]:
    """One number of nodes, for people."""
    lines = [f"{found['nodes']} nodes, {found['bytes'] / found['nodes'] / 1000:.1f} kB each"]
    for kind in ("folder", "lines"):
        part = found[kind]
        taken = part["taken"]
        times = {name: statistics.median(each) for name, each in taken.items()}
        lines.append(
            f"  {kind:<8} summed {times['sum']:.3f} s, read {times['read']:.3f} s ({times['plain']:.3f} s plainly), "
            f"{ratio(taken['sum'], taken['read']):.2f} and {ratio(taken['sum'], taken['plain']):.2f} times, "
            f"{part['peak']:.0f} MiB, {part['drifts']} facts in drift"
        )
        lines.append(f"  {'':<8} " + ", ".join(f"{form} {mib:.0f} MiB" for form, mib in part["formats"].items()))
        for name, seconds in part.get("beside", {}).items():
            lines.append(
                f"  {'':<8} {name:<10} {statistics.median(seconds):7.3f} s as a whole process, "
                f"{ratio(seconds, part['beside']['gpudoctor']):6.2f} times ours"
            )
        if "agree" in part:
            lines.append(f"  {'':<8} {'all answers agree' if part['agree'] else 'THE ANSWERS DIFFER'}")
    return lines


def goals(found: list[dict[str, Any]]) -> list[str]:
    """What is wanted, and what was seen."""
    first, last = found[0]["folder"], found[-1]["folder"]
    rows = [("summed, over only read (folder)", ratio(first["taken"]["sum"], first["taken"]["read"]), READ_GOAL, False)]
    others = [(name, seconds) for name, seconds in first.get("beside", {}).items() if name != "gpudoctor"]
    rows += [
        (f"{name}, over ours (folder)", ratio(s, first["beside"]["gpudoctor"]), PEER_GOAL, True) for name, s in others
    ]
    rows += [(f"MiB at the peak, {one['nodes']} nodes", one["folder"]["peak"], MEMORY_GOAL, False) for one in found]
    rows += [
        (f"MiB at the peak as {form}, {one['nodes']} nodes", mib, MEMORY_GOAL, False)
        for one in found
        for form, mib in one["folder"]["formats"].items()
    ]
    if len(found) > 1:
        growth = statistics.median(last["taken"]["sum"]) / statistics.median(first["taken"]["sum"])
        wanted = GROWTH_GOAL * found[-1]["nodes"] / found[0]["nodes"] / 10
        rows.append((f"{found[-1]['nodes']} nodes, over {found[0]['nodes']}", growth, wanted, False))
    return [
        f"{what:<46} {value:7.2f}   wanted {'>=' if least else '<='} {wanted:<5g} "
        f"{'held' if (value >= wanted if least else value <= wanted) else 'MISSED'}"
        for what, value, wanted, least in rows
    ]


def about(duckdb: str | None) -> str:
    """On what, and with what."""
    import msgspec

    versions = [f"Python {platform.python_version()}", f"msgspec {msgspec.__version__}"]
    if jq := shutil.which("jq"):
        versions.append(subprocess.run([jq, "--version"], capture_output=True, text=True, check=True).stdout.strip())
    if duckdb:
        argv = [duckdb, "-c", "import duckdb; print('DuckDB', duckdb.__version__)"]
        versions.append(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip())
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return f"{day}, {cores} cores, load {load:.1f}, Linux {platform.release()}, {', '.join(versions)}"


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="10000,100000", help="numbers of nodes (default: 10000,100000)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="each report has five measured values of each GPU")
    parser.add_argument("--duckdb-python", metavar="PYTHON", help="an interpreter that has duckdb")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.rounds)
        return
    found = []
    for count in map(int, given.nodes.split(",")):
        found.append(measured(count, given.rounds, given.smoke, given.duckdb_python, not found))
    if given.json:
        sys.stdout.write(json.dumps({"about": about(given.duckdb_python), "found": found}, indent=2) + "\n")
        return
    rows = [about(given.duckdb_python), *(line for one in found for line in table(one))]
    rows += [] if given.smoke else goals(found)  # the goals are about reports without measured values
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
