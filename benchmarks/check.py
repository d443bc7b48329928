"""Measures `gpudoctor check` beside other tools, beside imports, and in a large folder; it never fails.

    python benchmarks/check.py [--envs FOLDER] [--rounds 7] [--json]

Needs psutil, and to make the environments a network; with --envs they are kept, and taken the next time.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import environments
from measuring import Command, Times, interleaved, memory, plain_environment

FRAMEWORKS = ("torch", "tensorflow", "cupy", "jax")
FILES = 10_000
MEMORY_GOAL = 22.0  # MiB


class Goal(NamedTuple):
    """One thing that is wanted: a ratio of medians, or MiB."""

    what: str
    wanted: float
    found: float
    at_least: bool

    def line(self) -> str:
        """For people."""
        held = self.found >= self.wanted if self.at_least else self.found <= self.wanted
        sign = ">=" if self.at_least else "<="
        return f"{self.what:<58} {self.found:7.2f}   wanted {sign} {self.wanted:<6g} {'held' if held else 'MISSED'}"


def quick(doctor: str, folder: Path, rounds: int) -> dict[str, Any]:
    """The quick check against PyTorch's own report and env-doctor, in an environment with PyTorch for processors."""
    python, env = environments.environment(folder, "torch"), plain_environment()
    peer = env | {"PYTHONPATH": str(environments.env_doctor(folder, python))}
    start = "import sys; from env_doctor.cli import main; sys.exit(main())"
    place = _empty(folder)  # env-doctor reads every Python file under the working directory
    argv = [doctor, "check", "--quick", "--json", "--python", python]
    ours = Command("gpudoctor check --quick --json", argv, env, place)
    commands = [
        ours,
        Command("python -m torch.utils.collect_env", [python, "-m", "torch.utils.collect_env"], env, place),
        Command("env-doctor check", [python, "-c", start, "check"], peer, place),
    ]
    times = interleaved(commands, rounds)
    ratios = [times[name].median / times[ours.name].median for name in list(times)[1:]]
    peaks = {one.name: memory(one) for one in commands}
    return {
        "times": times,
        "memory": peaks,
        "goals": [
            Goal("collect_env takes so many times as long", 20, ratios[0], True),
            Goal("env-doctor takes so many times as long", 4, ratios[1], True),
            Goal("MiB of the whole tree, proportional", MEMORY_GOAL, peaks[ours.name]["tree"], False),
            Goal("MiB of the largest process (ru_maxrss)", MEMORY_GOAL, peaks[ours.name]["largest"], False),
        ],
    }


def _empty(folder: Path) -> str:
    (folder / "empty").mkdir(exist_ok=True)
    return str(folder / "empty")


def full(doctor: str, folder: Path, rounds: int) -> dict[str, Any]:
    """The whole check, which imports all frameworks at the same time, against the slowest import alone."""
    python, env = environments.environment(folder, "four"), plain_environment()
    ours = Command("gpudoctor check --json", [doctor, "check", "--json", "--python", python], env)
    imports = [Command(f"import {name}", [python, "-c", f"import {name}"], env) for name in FRAMEWORKS]
    times = interleaved([ours, *imports], rounds)
    slowest = max((times[one.name].median, one.name) for one in imports)
    ratio = times[ours.name].median / slowest[0]
    return {"times": times, "goals": [Goal(f"of the time of `{slowest[1]}`", 1.2, ratio, False)]}


def large_folder(doctor: str, folder: Path, rounds: int) -> dict[str, Any]:
    """The quick check in a folder of many files against one in an empty folder."""
    places = {"empty": Path(_empty(folder)), f"{FILES} files": folder / "many"}
    (folder / "many").mkdir(exist_ok=True)
    for number in range(FILES):
        (folder / "many" / f"file{number}.py").touch()
    argv = [doctor, "check", "--quick", "--json", "--python", environments.environment(folder, "torch")]
    commands = [
        Command(f"in a folder: {name}", argv, plain_environment() | {"PWD": str(place)}, str(place))
        for name, place in places.items()
    ]
    times = interleaved(commands, rounds)
    least = [times[command.name].least for command in commands]  # the medians differ by chance
    return {
        "times": times,
        "goals": [Goal("of the time in an empty folder (least of each)", 1.1, least[1] / least[0], False)],
    }


def about(doctor: str, folder: Path, names: list[str]) -> dict[str, Any]:
    """On what and with what it was measured.

    Args:
        doctor: the installed gpudoctor.
        folder: of the environments.
        names: the environments that are measured.
    """
    script = (
        "import importlib.metadata as m, json, sys; "
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
    )
    versions = {}
    for name in names:
        python = environments.environment(folder, name)
        said = json.loads(subprocess.run([python, "-c", script], capture_output=True, check=True).stdout)
        versions[name] = {key: value for key, value in said.items() if key.lower().startswith(FRAMEWORKS)}
    own = subprocess.run([doctor, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "python": platform.python_version(),
        "gpudoctor": own,
        "versions": versions,
        "load": os.getloadavg()[0],
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(name: str, found: dict[str, Any]) -> str:
    """One part for people."""
    lines = [f"\n{name}", f"{'seconds':<36} {'least':>8} {'median':>8} {'most':>8}"]
    times: dict[str, Times] = found["times"]
    lines += [f"{what:<36} {t.least:8.3f} {t.median:8.3f} {t.most:8.3f}" for what, t in times.items()]
    for what, peak in found.get("memory", {}).items():
        lines.append(f"{what:<36} {peak['tree']:6.1f} MiB in all, {peak['largest']:6.1f} MiB the largest process")
    return "\n".join([*lines, *(goal.line() for goal in found["goals"])])


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=Path, help="the directory of the environments (default: a temporary one)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=("quick", "full", "folder"), help="only this part")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.envs or Path(temporary)).resolve()
        folder.mkdir(exist_ok=True, parents=True)
        doctor = environments.gpudoctor(folder)
        parts = {"quick": quick, "full": full, "folder": large_folder}
        chosen = [arguments.only] if arguments.only else list(parts)
        found: dict[str, Any] = {
            "about": about(doctor, folder, [*dict.fromkeys("four" if one == "full" else "torch" for one in chosen)])
        }
        found |= {name: parts[name](doctor, folder, arguments.rounds) for name in chosen}
    if arguments.json:
        plain = {
            name: {k: v if k != "goals" else [g._asdict() for g in v] for k, v in part.items()}
            for name, part in found.items()
        }
        sys.stdout.write(json.dumps(plain, indent=2, default=str) + "\n")
    else:
        lines = [f"{key:<10} {value}" for key, value in found["about"].items()]
        sys.stdout.write("\n".join(lines + [table(name, found[name]) for name in chosen]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
