"""Fixes of files that are imported in place of what they hide."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Shadow
from gpudoctor.tasks import Task, cmd, export, unset


def rename(shadow: Shadow, verify: Task) -> Fix:
    """Rename a user's file or package.

    Args:
        shadow: what wins.
        verify: the command that shows what is imported then.
    """
    is_file = shadow.wins.endswith(".py")
    new = f"{shadow.wins.removesuffix('.py')}_own" + (".py" if is_file else "")
    kind, name = ("file", f"{shadow.module}.py") if is_file else ("directory", shadow.module)
    commands = [cmd("mv", shadow.wins, new)]
    if is_file:
        commands.append(cmd("rm", "-rf", f"{shadow.wins.rpartition('/')[0]}/__pycache__"))
    return Fix(
        f"Rename the {kind}: none of your own may be called {name}.",
        tuple(commands),
        "change-environment",
        undo=(cmd("mv", new, shadow.wins),),
        verify=verify,
    )


def without_python_path(facts: Facts, shadow: Shadow, verify: Task) -> Fix:
    """Remove the shadowing directory from PYTHONPATH."""
    value = facts.host.environment.get("PYTHONPATH", "")
    directory = shadow.wins.rpartition("/")[0]
    rest = [part for part in value.split(":") if part and part.rstrip("/") != directory]
    command = export("PYTHONPATH", ":".join(rest)) if rest else unset("PYTHONPATH")
    message = f"Remove {directory} from PYTHONPATH, here and in the startup file or module that sets it."
    return Fix(message, (command,), "change-environment", undo=(export("PYTHONPATH", value),), verify=verify)
