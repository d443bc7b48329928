"""Simulates `gpudoctor fleet` on a cluster that nobody can try it on: 100,000 nodes with Slurm and a shared directory.

    python benchmarks/fleet_simulation.py [--nodes 100000] [--seed 1]

Every number of the cluster has a public source below; what has none is an assumption, and says so. The same seed gives
the same result. docs/fleet.md, "Scale", has the table that it prints, and what follows from it.
"""

import argparse
import heapq
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

# Jobs that the controller starts a second: "500 simple batch jobs per second on a sustained basis",
# https://slurm.schedmd.com/high_throughput.html.
LAUNCHES = 500.0
# Jobs that the controller remembers, and for how many seconds after their end; at the limit srun waits and tries again:
# the defaults of MaxJobCount and MinJobAge, https://slurm.schedmd.com/slurm.conf.html.
REMEMBERED, REMEMBERED_FOR = 10_000, 300.0
# Node failures a node-day: Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters",
# arXiv 2410.21680 (RSC-1: 6.50 in 1,000 node-days). Llama 3 had 419 interruptions in 54 days on 2,048 nodes, 3.8 in
# 1,000 node-days (arXiv 2407.21783, table 5).
FAILURES = 6.5e-3
REPAIR = 1.0  # days that a failed node is down: an assumption
# Files that are created a second in one shared directory system, by one process and by 240 threads: mdtest on Lustre,
# "Dell Storage for HPC with Intel Enterprise Edition for Lustre", figure 12 (504, "almost 15K"; stat by one: 2,000).
CREATES_ALONE, CREATES, LOOKUPS_ALONE = 504.0, 15_000.0, 2_000.0
# What gpudoctor does for a report: create, sync and rename a file, and look for it before (report_store.py).
WRITES, LOOKUPS = 3, 1
REPORT = 9_100  # bytes of a report of eight GPUs and 120 packages (fleet_reports.py)
CHECK = (
    2.0,
    9.0,
)  # seconds of a check on a node, evenly: an assumption; frameworks are imported from a shared directory
LIMIT = 180.0  # --timeout of a node
SUMMED = 17e-6  # seconds to sum up a report that is in memory: docs/measurements.md, "Fleet"


class Setting(NamedTuple):
    """How the fleet is checked.

    Attributes:
        name: for the table.
        jobs: --jobs; 0: no launcher, a timer on each node writes its report.
        busy: share of the nodes whose GPUs a job has for longer than we wait.
        patience: --queue-timeout, seconds.
        spread: seconds over which timers are spread (RandomizedDelaySec).
        remembered: MaxJobCount.
    """

    name: str
    jobs: int = 64
    busy: float = 0.0
    patience: float = 60.0
    spread: float = 0.0
    remembered: int = REMEMBERED


SETTINGS = (
    Setting("defaults, idle cluster"),
    Setting("defaults, 80% of the nodes busy", busy=0.8),
    Setting("--queue-timeout 2, 80% busy", busy=0.8, patience=2.0),
    Setting("--queue-timeout 2 --jobs 256, 80% busy", 256, 0.8, 2.0),
    Setting("--jobs 180, idle", 180),
    Setting("--jobs 1024, idle", 1024),
    Setting("--jobs 1024, idle, MaxJobCount=200000", 1024, remembered=200_000),
    Setting("timers, RandomizedDelaySec=5", 0, spread=5.0),
    Setting("timers, RandomizedDelaySec=300", 0, spread=300.0),
)


class Outcome(NamedTuple):
    """What came of it.

    Attributes:
        verdict: seconds until the summary is there.
        states: how many nodes ended in which state of the ledger.
        files: reports that were written in the busiest second.
        operations: on metadata of the shared directory, all together.
        peak_jobs: jobs that the controller remembered at once.
        waited: seconds that were lost in total by waiting, by what was waited for.
    """

    verdict: float
    states: dict[str, int]
    files: int
    operations: int
    peak_jobs: int
    waited: dict[str, float]

    @property
    def first(self) -> str:
        """What held the run up most."""
        return max(self.waited, key=lambda what: self.waited[what]) if self.waited else "nothing"


def simulated(setting: Setting, nodes: int, seed: int) -> Outcome:
    """One run over so many nodes."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    down = sum(dice.random() < FAILURES * REPAIR for _ in range(nodes))
    asked = nodes - down
    return _timers(setting, asked, down, dice) if not setting.jobs else _launched(setting, asked, down, dice)


def _launched(setting: Setting, asked: int, down: int, dice: random.Random) -> Outcome:
    """`fleet run slurm`: so many threads, each with one srun after the other, and one that writes reports at a time."""
    threads = min(setting.jobs, asked)
    events = [(0.0, number, False) for number in range(threads)]  # when a thread is free, or has a report to write
    left, controller, writer, end, peak = asked, 0.0, 0.0, 0.0, 0
    remembered: list[float] = []  # when the controller forgets each job
    states, written, waited = Counter({"not asked": down}), Counter[int](), Counter[str]()
    while events:
        now, thread, has_report = heapq.heappop(events)
        if has_report:
            writer = max(now, writer) + WRITES / CREATES_ALONE
            waited["writing reports"] += writer - now
            written[int(writer)] += 1
            now = writer
        end = max(end, now)
        if not left:
            continue
        left -= 1
        while remembered and remembered[0] <= now:
            heapq.heappop(remembered)
        taken = heapq.heappop(remembered) if len(remembered) >= setting.remembered else now
        waited["MaxJobCount"] += taken - now
        controller = begun = max(taken, controller) + 1 / LAUNCHES
        waited["the controller's launch rate"] += begun - taken
        if dice.random() < setting.busy:
            state, over = "not asked", begun + setting.patience
            waited["busy nodes (--queue-timeout)"] += setting.patience
        else:
            state, over = "reported", begun + dice.uniform(*CHECK)
            if dice.random() < FAILURES * (over - begun) / 86_400:
                state, over = "timed out", begun + LIMIT
            waited["checks on the nodes (--jobs)"] += over - begun
        states[state] += 1
        heapq.heappush(remembered, over + REMEMBERED_FOR)
        peak = max(peak, len(remembered))
        heapq.heappush(events, (over, thread, state == "reported"))
    return _outcome(end, states, written, peak, waited)


def _timers(setting: Setting, asked: int, down: int, dice: random.Random) -> Outcome:
    """A timer on each node: nobody starts anything, and the shared directory takes what comes."""
    server, written, waited = 0.0, Counter[int](), Counter[str]()
    delays = [dice.uniform(0, setting.spread) for _ in range(asked)]
    waited["the timers"] = sum(delays)
    for ready in sorted(delay + dice.uniform(*CHECK) for delay in delays):
        server = max(ready, server) + WRITES / CREATES
        waited["the shared directory"] += server - ready
        written[int(server)] += 1
    return _outcome(server, Counter({"reported": asked, "not asked": down}), written, 0, waited)


def _outcome(end: float, states: Counter[str], written: Counter[int], peak: int, waited: Counter[str]) -> Outcome:
    reports = states["reported"]
    reading = reports * (SUMMED + 1 / LOOKUPS_ALONE)
    return Outcome(
        verdict=end + reading,
        states=dict(states),
        files=max(written.values(), default=0),
        operations=reports * (WRITES + LOOKUPS) + reports,  # each is opened once to be read
        peak_jobs=peak,
        waited=dict(waited),
    )


def lines(nodes: int, seed: int) -> Iterator[str]:
    """The table, as docs/fleet.md has it."""
    yield "| Setting | Verdict after | Not checked | Reports a second, at most | Metadata operations | Held up by |"
    yield "|---|---|---|---|---|---|"
    for setting in SETTINGS:
        one = simulated(setting, nodes, seed)
        left = nodes - one.states.get("reported", 0)
        yield (
            f"| {setting.name} | {_time(one.verdict)} | {left:,} | {one.files:,} | {one.operations:,} | {one.first} |"
        )


def _time(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.stdout.writelines(f"{line}\n" for line in lines(given.nodes, given.seed))


if __name__ == "__main__":
    main()
