"""What `gpudoctor fleet run` starts on each node."""

import argparse
import shlex
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.fleet_node import limit

if TYPE_CHECKING:
    from gpudoctor.fleet.running.engine import Job


def program_of(arguments: argparse.Namespace) -> list[str]:
    """How gpudoctor is started on a node.

    Raises:
        UsageError: what was given is no command.
    """
    try:
        program = shlex.split(arguments.program)
    except ValueError as error:
        raise UsageError(f"--with {arguments.program} is no command: {error}.") from None
    if not program:
        raise UsageError("--with takes a command; a shell variable that is not set gives an empty one.")
    return program


def job_of(arguments: argparse.Namespace) -> "Job":
    """What runs on each node.

    Raises:
        UsageError: what starts it is no command, or a file of expectations cannot be used.
    """
    from gpudoctor.cli.expecting import in_time
    from gpudoctor.expect.trust import ExpectFileError
    from gpudoctor.fleet.running.engine import Job
    from gpudoctor.fleet.running.sent import packed

    program = program_of(arguments)
    try:
        sent = in_time(lambda: packed(arguments.expect)) if arguments.expect else ""
    except ExpectFileError as error:
        raise UsageError(str(error)) from None
    seconds = limit(arguments)
    argv = [*program, "fleet", "node", "--limit", f"{seconds:g}"]
    argv += [flag for flag in ("--quick", "--smoke") if getattr(arguments, flag[2:])]
    argv += ["--expect-text", sent] if sent else []
    return Job(tuple(argv), seconds, arguments.fan, not arguments.no_gpus)
