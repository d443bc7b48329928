"""Fixes of environment variables: unset one, or change its value."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.targets import in_container
from gpudoctor.tasks import Task, Variable, export, filtered, query


def unset(facts: Facts, *names: str, why: str = "", verify: Task | None = None) -> Fix:
    """Unset variables, and remove them from where they are set.

    Args:
        facts: the machine, on which they are set.
        names: the variables.
        why: what to add, a sentence.
        verify: the command that verifies the fix.
    """
    values = facts.host.environment
    undo = tuple(export(name, values.get(name, "")) for name in names)
    return Fix(
        f"{unset_where_set(facts, *names)}{why and ' ' + why}",
        tuple(Variable(name) for name in names),
        "change-environment",
        needs="restart of the program",
        undo=undo,
        verify=verify
        or filtered(query("env"), query("grep", *(word for name in names for word in ("-e", f"^{name}=")))),
    )


def unset_where_set(facts: Facts, *names: str) -> str:
    """The sentence for variables that are unset, here and where they are set."""
    them = "it from where it is" if len(names) == 1 else "them from where they are"
    return f"Unset {' and '.join(names)}, and remove {them} set: {places(facts)}."


def assign(name: str, value: str, message: str, verify: Task | None = None) -> Fix:
    """Set a variable to a valid value."""
    command = export(name, value)
    return Fix(message, (command,), "change-environment", needs="restart of the program", verify=verify)


def places(facts: Facts) -> str:
    """Where variables are set, on this machine."""
    if facts.host.kubernetes is True:
        return "the image (ENV) or env of the pod"
    if in_container(facts):
        return "the image (ENV), the -e option, env_file or environment of Compose, or env of the pod"
    return "the launch script, ~/.bashrc, ~/.profile, /etc/environment or the service's unit"
