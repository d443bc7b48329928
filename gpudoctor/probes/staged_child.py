"""Runs a script that tells its stages line by line, so that what came before a hang or a crash is kept."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gpudoctor import workers
from gpudoctor.child import ChildResult
from gpudoctor.machine import Machine

# One GPU answers within a second, a laptop's that sleeps in D3cold within three; eight seconds are a hang.
# Without persistence mode every further GPU is initialized again, for up to two seconds each.
FIRST_SECONDS, FURTHER_SECONDS = 8.0, 2.0

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class StagedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a script told: `said` by name, `rows` of devices in order, and how the script ended.

    `hung` is the stage in which it stopped answering, `died` the signal that ended it, and `why` says in a
    sentence why what it did not tell is unknown.
    """

    said: dict[str, Any]
    rows: tuple[dict[str, Any], ...]
    hung: str | None
    died: str | None
    why: str


def patience(machine: Machine) -> float:
    """The seconds after which the driver counts as hung on this machine, by the number of its GPUs."""
    gpus = len(machine.names("/proc/driver/nvidia/gpus"))
    return FIRST_SECONDS + FURTHER_SECONDS * max(0, gpus - 1)


def ask(
    machine: Machine,
    script: str,
    arguments: Sequence[str] = (),
    *,
    row: str,
    seconds: float,
    env: Mapping[str, str] | None = None,
) -> StagedOutput:
    """Run a script of gpudoctor/workers in this interpreter, isolated, and gather its lines.

    Args:
        machine: where it runs, in the examined environment unless `env` is given.
        script: its file name.
        arguments: its arguments.
        row: the name under which a line tells of one device; lines with the same index are one device.
        seconds: after which it counts as hung.
        env: the environment.
    """
    allowed = machine.left(seconds)
    hurried = allowed < seconds  # then no answer says nothing about the driver
    ended = machine.run([*program(script), *arguments], seconds, env, patient=True)
    said: dict[str, Any] = {}
    rows: dict[int, dict[str, Any]] = {}
    for line in ended.out.splitlines():
        reported = _parsed(line)
        part = reported.pop(row, None)
        if isinstance(part, dict) and isinstance(part.get("index"), int):
            rows.setdefault(part["index"], {}).update(part)
        said.update(reported)
    stage = str(said.get("stage", "start"))
    machine.driver_hangs |= ended.timed_out and not hurried
    return StagedOutput(
        said=said,
        rows=tuple(rows[index] for index in sorted(rows)),
        hung=stage if ended.timed_out and not hurried else None,
        died=None if ended.timed_out or ended.cancelled else ended.signal,
        why=end_of(ended, stage, allowed) + (", all the time that was left" if ended.timed_out and hurried else ""),
    )


def program(script: str) -> list[str]:
    """Return the command line of a script of gpudoctor/workers; from a zip, which has no file to run, its source."""
    interpreter = [sys.executable or "python3", "-I", "-S"]  # -S: .pth files of the environment are not our affair
    path = workers.script(script)
    if os.path.exists(path):
        return [*interpreter, path]
    import pkgutil

    return [*interpreter, "-c", (pkgutil.get_data("gpudoctor", f"workers/{script}") or b"").decode()]


def module_folder(name: str) -> str:
    """The directory or zip from which a top-level module of gpudoctor's own interpreter comes; empty: none.

    It is not imported.
    """
    from importlib.util import find_spec

    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return ""
    folder = os.path.dirname(spec.origin)
    return os.path.dirname(folder) if spec.submodule_search_locations else folder


def _parsed(line: str) -> dict[str, Any]:
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeError):  # cut short by its death, or printed by the interpreter
        return {}


def end_of(ended: ChildResult, stage: str, seconds: float) -> str:
    """Return in a sentence how a script ended, and so why what it did not tell is unknown.

    Args:
        ended: its end.
        stage: the last that it told.
        seconds: the time that it had.
    """
    if ended.missing:
        return f"it was not run: {ended.missing}"
    if ended.timed_out:
        deep = ", and the child process cannot be killed" if ended.abandoned else ""
        return f"no response in stage {stage} within {round(seconds, 1):g} s{deep}"
    if ended.cancelled:
        return "the run was canceled"
    if ended.signal:
        return f"the child process was killed by {ended.signal} in stage {stage}"
    last = next((line for line in reversed(ended.err.splitlines()) if line.strip()), "")
    return f"the child process exited in stage {stage} with code {ended.code}: {last}".removesuffix(": ")
