"""Imports one framework in a child in the examined interpreter, and reads what it says about the GPUs."""

import json
import time
from typing import Any, get_type_hints

import msgspec

from gpudoctor import workers
from gpudoctor.child import ChildResult
from gpudoctor.facts.framework import Framework, LiveFramework
from gpudoctor.facts.python import Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.parsers.crash_output import tail
from gpudoctor.probes import executable_stack
from gpudoctor.probes.frameworks.refusals import number, plain, refusal
from gpudoctor.probes.python.interpreter import child_environment
from gpudoctor.probes.temp_home import spare_home

# A first import without bytecode from a cold disk took 18 s (TensorFlow 2.21); five times that is a hang.
SECONDS = 90.0
# libcuda alone is given 8 s for one GPU and 22 s for eight (probes/staged_child.py); a framework loads its libraries
# besides. Where libcuda or NVML hung by themselves, the framework waits for the same thing.
ASKING, HOPELESS = 45.0, 10.0
TAIL = 40  # lines of stderr that are kept
PREFIX = "gpudoctor:"  # as in workers/common.py
_SCRIPT = workers.script("ask.py")

# SYCL's runtime and Level Zero's loader then print what they cannot load, which they otherwise pass over in silence:
# sycl/doc/EnvironmentVariables.md of intel/llvm, README.md of oneapi-src/level-zero.
_TRACES = {"SYCL_UR_TRACE": "1", "ZE_ENABLE_LOADER_DEBUG_TRACE": "1"}
_SET = {
    "PYTHONFAULTHANDLER": "1",  # a segmentation fault says on stderr where it happened
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # JAX would take three quarters of the GPU's memory
}


def probe(machine: Machine, python: Python, framework: Framework, seconds: float = SECONDS) -> LiveFramework:
    """Import the framework and ask it for its GPUs; never raises, and keeps what was told before a crash or a hang.

    Args:
        machine: where it runs, in the examined environment.
        python: the interpreter.
        framework: what `frameworks.static` found.
        seconds: after which it counts as hung.
    """
    why = _not_asked(machine, framework)
    if why:
        return _empty(why)
    env = child_environment(machine) | _SET | (_TRACES if framework.variant == "xpu" else {})
    pace = ImportDeadlines(machine)
    hidden = dict.fromkeys(shadow.module for shadow in python.shadows if shadow.standard)
    argv = [python.path, _SCRIPT, framework.name, *hidden]
    hurried = machine.left(seconds) < seconds
    with spare_home(env) as at_home:
        ended = machine.run(argv, seconds, at_home, pace.line, patient=True, late=pace.late)
    live = read(framework.name, ended, hurried=hurried and not pace.late())
    libraries = executable_stack.libraries_of(machine, framework.location or "/nowhere")
    asking = executable_stack.asking(machine, live.import_error, libraries)
    return msgspec.structs.replace(live, executable_stack=asking) if asking else live


class ImportDeadlines:
    """How long the stages after the import may take: they wait for the driver, and for no cold disk any more."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._asked: float | None = None  # since when it asks the driver

    def line(self, line: str) -> None:
        """Take note of a line that it told."""
        if self._asked is None and "stage" in said_in(line) and said_in(line)["stage"] not in ("import", "done"):
            self._asked = time.monotonic()

    def late(self) -> bool:
        """Whether the driver keeps it waiting too long; one that hung when it was asked itself gets less time."""
        seconds = HOPELESS if self._machine.driver_hangs else ASKING
        return self._asked is not None and time.monotonic() - self._asked > seconds


def _not_asked(machine: Machine, framework: Framework) -> str | None:
    if not machine.here:
        return "programs are not run under another root"
    if framework.location and framework.location.endswith(".py"):
        # A user's own script of that name would do whatever it does.
        return f"import would run {framework.location}, which is not the framework"
    return None


def _empty(why: str) -> LiveFramework:
    return msgspec.structs.replace(
        LiveFramework(), **{name: Unknown(why) for name in _kinds() if _may_be_unknown(name)}
    )


def read(name: str, ended: ChildResult, *, hurried: bool = False) -> LiveFramework:
    """Make facts of what the child told.

    Args:
        name: the framework's import name.
        ended: how the child ended, with its output.
        hurried: it had less than its full time, so that no answer is no hang.
    """
    said = said_in(ended.out)
    stage = str(said.get("stage", "start"))
    if said.get("available") is False or said.get("count") == 0 or "error" in said:
        error = said.get("error")
        if isinstance(error, str | None):
            said["error"] = refusal(name, ended.err, error)
    if "error_code" not in said and isinstance(said.get("error"), str | None) and "error" in said:
        said["error_code"] = number(said["error"])
    why = f"import failed: {said['import_error']}" if said.get("import_error") else _why(ended, stage, hurried)
    facts = {field: _fact(field, said, why) for field in _kinds()}
    facts |= {
        "stage": stage,
        "hung": ended.timed_out and not hurried,
        "stderr": _tail(ended.err),
        "exit_code": ended.code,
    }
    facts["died"] = None if ended.timed_out else ended.signal
    return LiveFramework(**facts)


def said_in(out: str) -> dict[str, Any]:
    """The union of all lines; a later one wins."""
    said: dict[str, Any] = {}
    for line in out.splitlines():
        if not line.startswith(PREFIX):
            continue
        try:
            reported = json.loads(line[len(PREFIX) :])
        except (ValueError, RecursionError):  # cut short by the child's death
            continue
        said.update(reported if isinstance(reported, dict) else {})
    return said


def _kinds() -> dict[str, Any]:
    return get_type_hints(LiveFramework)


def _may_be_unknown(field: str) -> bool:
    return Unknown in getattr(_kinds()[field], "__args__", ())


def _fact(field: str, said: dict[str, Any], why: str) -> Any:
    """One fact as its type wants it; Unknown, or the default, where the child did not tell it or told nonsense."""
    default = Unknown(why) if _may_be_unknown(field) else getattr(LiveFramework(), field)
    if field not in said:
        return default
    try:
        return msgspec.convert(said[field], _kinds()[field])
    except msgspec.ValidationError as error:
        return Unknown(f"invalid output of the child process: {error}") if _may_be_unknown(field) else default


def _why(ended: ChildResult, stage: str, hurried: bool) -> str:
    """Why what the child did not tell is unknown."""
    if ended.missing:
        return f"{ended.argv[0]} was not started: {ended.missing}"
    if ended.timed_out:
        rest = ", all the time that was left" if hurried else ""
        return f"no response within {ended.seconds:.0f} s in stage {stage}{rest}"
    if ended.signal:
        return f"the process was killed by {ended.signal} in stage {stage}"
    if ended.cancelled:
        return "the run was stopped"
    if stage == "done":
        return "not queried from the framework"
    last = next((line for line in reversed(ended.err.splitlines()) if line.strip()), "no output")
    return f"the process exited in stage {stage} with code {ended.code}: {last.strip()}"


def _tail(text: str) -> str:
    return tail(plain(text), TAIL)
