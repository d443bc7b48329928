"""The figures of a run as one JSON document: `gpudoctor run --report FILE`."""

from typing import Any

import msgspec

from gpudoctor.cli.run_program.figures import RunFigures
from gpudoctor.cli.run_program.verdict import RunVerdict

SCHEMA = "gpudoctor.run/1"
MAX_PROCESSES = 100
OF_A_PROCESS = ("pid", "parent", "name", "cpu_seconds", "seconds", "worker", "frameworks")


def render(figures: RunFigures | None, wall: float, code: int, signal: int, verdict: RunVerdict | None) -> bytes:
    """The document: what is unknown is null, and no name of a user, path or command line is in it.

    Args:
        figures: None: the program ended before anything was seen.
        wall: the seconds that the program ran.
        code: the program's exit code.
        signal: that ended it; 0: none.
        verdict: None: nothing is odd, or nothing is known.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "exit_code": 128 + signal if signal else code,
        "wall_seconds": wall,
        "watched": figures is not None,
        "verdict": {"id": verdict.id, "message": verdict.line} if verdict else None,
    }
    if figures is not None:
        shown = figures.processes[:MAX_PROCESSES]
        rest = sum(one.cpu_seconds or 0.0 for one in figures.processes[MAX_PROCESSES:])
        document |= {
            "cpus": figures.cpus,
            "gpus": [msgspec.to_builtins(gpu) for gpu in figures.gpus],
            "processes": [_process(msgspec.to_builtins(one)) for one in shown],
            "other_cpu_seconds": figures.other_cpu_seconds + rest,
        }
    return msgspec.json.format(msgspec.json.encode(_rounded(document))) + b"\n"


def _process(figures: dict[str, Any]) -> dict[str, Any]:
    chosen = {name: figures[name] for name in OF_A_PROCESS}
    return chosen | {"frameworks": sorted(figures["frameworks"])}


def _rounded(value: Any) -> Any:
    """Hundredths are more than one look a second can tell."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 2) if isinstance(value, float) else value
