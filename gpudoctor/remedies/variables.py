"""Fixes of environment variables: take one out, or give it another value."""

import shlex

from gpudoctor.facts import Facts
from gpudoctor.judge import Fix
from gpudoctor.subjects import in_container


def unset(facts: Facts, *names: str, why: str = "", verify: str | None = None) -> Fix:
    """Take variables out of the environment, and out of where they are set.

    Args:
        facts: the machine, on which they are set.
        names: the variables.
        why: what to add, a sentence.
        verify: the command that shows that it helped.
    """
    values = facts.host.environment
    undo = "; ".join(f"export {name}={shlex.quote(values.get(name, ''))}" for name in names)
    return Fix(
        f"Unset {' and '.join(names)}, and take it out of where it is set: {places(facts)}.{why and ' ' + why}",
        tuple(f"unset {name}" for name in names),
        "change-environment",
        needs="restart of the program",
        undo=undo,
        verify=verify or "env | grep " + " ".join(f"-e ^{name}=" for name in names),
    )


def assign(name: str, value: str, says: str, verify: str | None = None) -> Fix:
    """Give a variable a value that is understood."""
    command = f"export {name}={shlex.quote(value)}"
    return Fix(says, (command,), "change-environment", needs="restart of the program", verify=verify)


def places(facts: Facts) -> str:
    """Where variables are set, on this machine."""
    if in_container(facts):
        return "the image (ENV), the -e option, env_file or environment of Compose, or env of the pod"
    return "the launch script, ~/.bashrc, ~/.profile, /etc/environment or the service's unit"
