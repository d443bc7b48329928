"""What `gpudoctor fleet run` starts on each node."""

import argparse
import shlex
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.fleet.node import limit

if TYPE_CHECKING:
    from gpudoctor.fleet.runner.engine import NodeJob


def program_of(arguments: argparse.Namespace) -> list[str]:
    """How gpudoctor is started on a node.

    Raises:
        UsageError: what was given is no command.
    """
    try:
        program = shlex.split(arguments.program)
    except ValueError as error:
        raise UsageError(f"--with {arguments.program} is not a command: {error}.") from None
    if not program:
        raise UsageError("--with needs a command; an unset shell variable gives an empty one.")
    return program


def job_of(arguments: argparse.Namespace) -> "NodeJob":
    """What runs on each node.

    Raises:
        UsageError: what starts it is no command, or a file of expectations cannot be used.
    """
    from gpudoctor.cli.expect_options import in_time
    from gpudoctor.expect import ExpectFileError
    from gpudoctor.fleet.runner.engine import NodeJob
    from gpudoctor.fleet.runner.payload import packed

    program = program_of(arguments)
    try:
        sent = in_time(lambda: packed(arguments.expect)) if arguments.expect else ""
    except ExpectFileError as error:
        raise UsageError(str(error)) from None
    seconds = limit(arguments)
    argv = [*program, "fleet", "node", "--timeout", f"{seconds:g}"]
    argv += [flag for flag in ("--quick", "--smoke") if getattr(arguments, flag[2:])]
    argv += ["--expect-text", sent] if sent else []
    return NodeJob(tuple(argv), seconds, arguments.jobs, not arguments.no_gpus)
