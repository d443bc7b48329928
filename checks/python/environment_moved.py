"""A virtual environment that was copied or moved: its pip is another environment's."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import manager_of
from gpudoctor.fixes.recreate import from_list, in_place
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, known_or, present
from gpudoctor.targets import OnPython, in_container, pythons
from gpudoctor.tasks import Manual, Shell, cmd, query
from gpudoctor.tasks.placeholders import REST

_PLAIN = pattern(r"/[\w./+-]+")  # what neither the shell nor sed takes for something else


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    own, old = on.python.path, present(on.python.prefix)
    new = f"{old}-new"
    again = in_place(on.python) or Fix(
        "Create a new environment next to it, from the list of its packages.",
        from_list(on.python, new),
        "reinstall-package",
        undo=(cmd("rm", "-r", new),),
        verify=None if manager_of(on.python) == "uv" else query("head", "-1", f"{new}/bin/pip"),  # uv installs no pip
    )
    meanwhile = Fix(
        f"Until then run pip as `python -m pip` with this interpreter, and do not activate {old}.",
        (cmd(own, "-m", "pip", "install", REST),),
        "change-environment",
        verify=query(own, "-m", "pip", "--version"),
    )
    return (*_scripts(on), again, meanwhile)


def _scripts(on: OnPython) -> tuple[Fix, ...]:
    """Put the directory's own path into its scripts, in which it stands as text; nothing else of it is absolute."""
    new = known(on.python.prefix)
    old = present(on.python.own_pip).rpartition("/bin/")[0]
    if not (_PLAIN.fullmatch(old) and _PLAIN.fullmatch(new)):
        return ()
    tasks, undo = _replaced(old, new, new), _replaced(new, old, new)
    message = f"Put the path of {new} into its scripts, where that of {old} is, and activate it again."
    again = Manual(f". {new}/bin/activate")  # the shell has the old path
    proof = query("head", "-1", f"{new}/bin/pip")
    return (Fix(message, (tasks, again), "change-environment", undo=(undo,), verify=proof),)


def _replaced(old: str, new: str, place: str) -> Shell:
    """Replace a whole path, and not the beginning of another one: /a/env in /a/env-2."""
    return Shell(f"sed -i -E 's#{old}([^-[:alnum:]._]|$)#{new}\\1#g' $(grep -lIF {old} {place}/bin/*)")


@check(
    title="Virtual environment was copied or moved",
    severity=Severity.WARNING,
    cause="The scripts of a virtual environment contain its absolute path: in a copy, `pip` installs into the "
    "original directory, and bin/activate activates that one.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/venv.html#how-venvs-work",),
    targets=pythons,
    only_with=("pythons.own_pip pythons.kind?",),
    affects=("tools",),
    validated_on=("environment 2026-11",),
)
def environment_moved(on: OnPython) -> Problem | None:
    """The first line of the environment's own bin/pip names an interpreter in another directory."""
    if known(on.python.kind) != "venv":
        return None
    other = known(on.python.own_pip)
    if other is None:
        return None
    own = known_or(on.python.prefix, on.python.path)
    message = f"`pip` of {own} runs {other}, so what it installs does not end up in this environment."
    # Multi-stage image builds do this, and nobody runs pip in them.
    return Problem(message, severity=Severity.ADVICE if in_container(on.facts) else None)
