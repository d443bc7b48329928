"""Asks before anything is run, and runs it in sight: what `setup --run` and `fix` share."""

import os
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli.output import complain, out

if TYPE_CHECKING:
    from gpudoctor.setup.carry import Ended

# Exit codes besides the general ones.
NOT_HERE, STEP_FAILED, DECLINED = 3, 4, 5
# Variables by which a Python would run or import something that is not meant.
_LEFT_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "__PYVENV_LAUNCHER__")


def agreed(question: str, yes: bool) -> bool:
    """Whether the user agrees: by --yes, or by an answer at a terminal; where there is neither, not."""
    if yes:
        return True
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        complain("Nothing was run: there is no terminal to ask at, and --yes was not given.")
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
    from gpudoctor.report.clean import clean

    out(f"{clean(text)}\n")
    sys.stdout.flush()


def run(argv: tuple[str, ...]) -> int:
    """Run a command in sight; its exit code, 127 where it is not there.

    It starts in the root folder, so that no file of the working directory is imported, and without variables that
    would change which code a Python runs.
    """
    from gpudoctor.cli import program
    from gpudoctor.cli.start import NotRunError

    env = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | {"PYTHONSAFEPATH": "1"}
    words = own(argv)
    before = os.getcwd()
    os.chdir("/")
    try:
        ended = program.run(words, env)
    except NotRunError as error:
        complain(str(error))
        return error.code
    finally:
        os.chdir(before)
    if ended.asked:
        complain("It was asked to end.")
    return 128 + ended.signal if ended.signal else ended.code


def own(argv: tuple[str, ...]) -> list[str]:
    """The words with ourselves by our interpreter, and without sudo where we are root and there is none."""
    import shutil

    words = list(argv)
    if words[:1] == ["sudo"] and os.geteuid() == 0 and shutil.which("sudo") is None:
        words = words[1:]
    if words[:1] == ["gpudoctor"]:
        from gpudoctor.cli.start import ourselves

        words = ourselves(*words[1:])
    return words


def failed(ended: "Ended") -> None:
    """Say what failed, and what was done before."""
    step = ended.failed
    title = step.title.partition(". ")[0].rstrip(".") if step else ""
    complain(f"This step failed: {title}. `{ended.command}` ended with exit code {ended.code}. Nothing more was run.")
    complain(f"Done before: {', '.join(ended.done)}." if ended.done else "No step was finished before.")
    if step and (step.undo or ended.done):
        complain("`gpudoctor fix --undo` takes back what this run has done, as far as it can be taken back.")
