"""Asks before anything is run, and runs it in sight: what `setup --run` and `fix` share."""

import os
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli.output import complain, out

if TYPE_CHECKING:
    from gpudoctor.setup.executor import ExecutionResult
    from gpudoctor.setup.installed_packages import Installed

# Exit codes besides the general ones.
NOT_HERE, STEP_FAILED, DECLINED = 3, 4, 5
_SECONDS = 60.0  # for an interpreter to list what is installed; a slow network file system takes some
# Variables by which a Python would run or import something that is not meant.
_LEFT_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "__PYVENV_LAUNCHER__")


def agreed(question: str, yes: bool) -> bool:
    """Whether the user agrees: by --yes, or by an answer at a terminal; where there is neither, not."""
    if yes:
        return True
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        complain("Nothing was run: there is no terminal to ask for confirmation, and --yes was not given.")
        return False
    sys.stdout.flush()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    complain("Nothing was run.")
    return False


def tell(text: str) -> None:
    """Say what comes next, before it runs."""
    from gpudoctor.report.sanitize import clean

    out(f"{clean(text)}\n")
    sys.stdout.flush()


def run(argv: tuple[str, ...]) -> int:
    """Run a command in sight; its exit code, 127 where it is not there.

    It starts in the root folder, so that no file of the working directory is imported, and without variables that
    would change which code a Python runs.
    """
    from gpudoctor.cli.run_program import process
    from gpudoctor.cli.run_program.spawn import NotRunError

    env = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | {"PYTHONSAFEPATH": "1"}
    words = own(argv)
    before = os.getcwd()
    os.chdir("/")
    try:
        ended = process.run(words, env)
    except NotRunError as error:
        complain(str(error))
        return error.code
    finally:
        os.chdir(before)
    if ended.asked:
        complain("It was interrupted.")
    return 128 + ended.signal if ended.signal else ended.code


def quietly(argv: tuple[str, ...]) -> int:
    """Run a command that only looks, out of sight; its exit code."""
    from gpudoctor import child

    env = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | {"UV_HTTP_RETRIES": "0"}
    ended = child.run(tuple(own(argv)), timeout=_SECONDS, env=env)
    return ended.code if ended.code is not None else 1


def own(argv: tuple[str, ...]) -> list[str]:
    """The words with ourselves by our interpreter."""
    words = list(argv)
    if words[:1] == ["gpudoctor"]:
        from gpudoctor.cli.run_program.spawn import ourselves

        words = ourselves(*words[1:])
    return words


def lacks_sudo() -> bool:
    """Whether nobody can become root from here: we are not, and there is no sudo."""
    import shutil

    from gpudoctor.setup.executor import is_root

    return not is_root() and shutil.which("sudo") is None


def installed(python: str) -> "tuple[Installed, ...] | None":
    """What is installed in an environment, as its interpreter says; None: it does not."""
    import msgspec

    from gpudoctor import child
    from gpudoctor.setup.installed_packages import Installed
    from gpudoctor.workers import installed as script

    env = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    said = child.run((python, "-I", script.__file__), timeout=_SECONDS, env=env).out
    lines = [line for line in said.splitlines() if line.startswith(script.MARK)]
    try:
        return msgspec.json.decode(lines[-1].removeprefix(script.MARK), type=tuple[Installed, ...]) if lines else None
    except msgspec.MsgspecError:
        return None


def failed(ended: "ExecutionResult") -> None:
    """Say what failed, and command by command what was done before."""
    from gpudoctor.report.sanitize import clean

    step, last = ended.failed, ended.did[-1] if ended.did else None
    title = step.title.partition(". ")[0].rstrip(".") if step else ""
    how = ended.why or (f"`{last.shown}` exited with code {last.code}." if last else "")
    if not ended.resolved:
        complain(clean(f"Nothing was changed, because this cannot be installed: {title}. {how}"))
    else:
        complain(clean(f"Step failed: {title}. {how} No further steps were run."))
    for command in ended.changed:
        complain(clean(f"Done before: {command}"))
    if not ended.changed:
        complain("Nothing was changed before it.")
    else:
        complain("`gpudoctor fix --undo` undoes this run as far as possible.")
