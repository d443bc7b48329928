"""Which Python an assistant may have run: checking an environment executes its interpreter, as the user.

An assistant may be steered by what it reads, so a path of its choice is not enough: the environment must be one that
gpudoctor finds in the usual places and that nobody but this user and root owns, or one that the user named.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpudoctor.cli import UsageError
from gpudoctor.machine import Machine
from gpudoctor.probes.python import InterpreterError, choose, discovery
from gpudoctor.probes.python.project_env import stranger

NAMED = 10  # environments that an error names
MASKED = "/home/user"  # what masks put for the home directory


def allowed(path: str, named: Sequence[str]) -> str:
    """The interpreter of an environment that may be run.

    Args:
        path: what the assistant named.
        named: what the user named when the server was started.

    Raises:
        UsageError: it is not there, is no Python, or is none that may be run.
    """
    machine = Machine()
    home = machine.env.get("HOME", "")
    if path.startswith(f"{MASKED}/") and not machine.exists(MASKED):
        path = f"~{path.removeprefix(MASKED)}"  # as it is called in an answer
    try:
        (wanted, _), *_ = choose(machine, [path])
        ours = [one for one, _ in choose(machine, named)] if named else []
    except InterpreterError as error:
        raise UsageError(str(error)) from None
    there = {_identity(machine, one): one for one in [*_found(machine), *ours]}
    if (known := there.get(_identity(machine, wanted))) is None:
        some = ", ".join(_shown(one, home) for one in list(there.values())[:NAMED])
        named_so = _shown(path, home)
        raise UsageError(
            f"{named_so} is not one of the environments that gpudoctor found, and checking it would run it. The user "
            f"can allow it by starting the server as `gpudoctor mcp --python {named_so}`. Found: {some or 'none'}."
        )
    return known


def _shown(path: str, home: str) -> str:
    """The path without the name of the user, in the form in which it can be given again."""
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def _found(machine: Machine) -> list[str]:
    """The interpreters in the usual places, without the environments of other users."""
    return [
        one.path
        for one in discovery.probe(machine)
        if one.kind == "system" or stranger(machine, _prefix(one.path), _prefix(one.path)) is None
    ]


def _prefix(python: str) -> str:
    return os.path.dirname(os.path.dirname(python))


def _identity(machine: Machine, python: str) -> tuple[str, str]:
    """What two paths to one interpreter have in common: an environment's directory, else the directory and the name.

    Not the file that a link ends at: that of an environment is the system's.
    """
    prefix = _prefix(python)
    if machine.exists(f"{prefix}/pyvenv.cfg") or machine.exists(f"{prefix}/conda-meta"):
        return machine.real(prefix), ""
    return machine.real(os.path.dirname(python)), os.path.basename(python)
