"""`gpudoctor setup`: a plan that takes this machine to frameworks that compute on its GPU."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out, out_json

if TYPE_CHECKING:
    from gpudoctor.facts import Facts
    from gpudoctor.setup.plan import Plan
    from gpudoctor.setup.wishes import Wishes

DESCRIPTION = """Plan the way from this machine as it is to frameworks that compute on its GPU: driver, container
toolkit, the wheels that fit together, and how to prove it. The plan is printed, and nothing is changed."""
EPILOG = """Exit codes: 0 every wish can be met, 2 wrong usage, 3 a wish cannot be met here (the rest is planned), 4 a
step failed, 5 nothing was run."""
# Besides the general ones.
NOT_HERE, STEP_FAILED, DECLINED = 3, 4, 5


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    from gpudoctor.cli.check import python_option, timeout_option

    one = commands.add_parser(
        "setup", help="plan driver, wheels and environment for this GPU", description=DESCRIPTION, epilog=EPILOG
    )
    one.add_argument(
        "frameworks", nargs="+", metavar="FRAMEWORK", help="pytorch, tensorflow, cupy, jax, onnxruntime: one or more"
    )
    one.add_argument(
        "--manager",
        choices=("uv", "pip", "conda", "pixi", "poetry"),
        help="who installs (default: uv where it is there, else pip)",
    )
    where = one.add_mutually_exclusive_group()
    where.add_argument("--env", metavar="DIR", help="the folder of the new environment (default: ./gpu-env)")
    where.add_argument("--into", metavar="ENV", help="install into an environment that is there: it, or its Python")
    one.add_argument("--python-version", metavar="3.N", help="the Python of the new environment")
    one.add_argument(
        "--driver",
        choices=("auto", "yes", "no"),
        default="auto",
        help="auto: a driver where it is needed (default); yes: the newest that fits; no: it stays",
    )
    one.add_argument("--container-toolkit", action="store_true", help="let containers have the GPU too")
    one.add_argument("--cpu", action="store_true", help="wheels for the CPU, whatever this machine has")
    one.add_argument("--facts", metavar="FILE", help="plan for the machine on which `gpudoctor facts` wrote the file")
    one.add_argument("--json", action="store_true", help="write the plan as one JSON document")
    python_option(one)
    timeout_option(one, "150")
    one.set_defaults(run=run, quick=True, smoke=False, root="/")


def run(arguments: argparse.Namespace) -> int:
    """Plan and write; gives the exit code."""
    from gpudoctor.setup.planner import plan

    facts = found(arguments)
    made = plan(facts, wishes(arguments, facts))
    show(arguments, made)
    return NOT_HERE if made.refused else OK


def show(arguments: argparse.Namespace, plan: "Plan") -> None:
    """Write the plan in the form that was asked for."""
    if arguments.json:
        from gpudoctor.report.clean import document

        out_json(document(plan))
        return
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.setup.text import render

    out(render(plan, columns(), colours(sys.stdout)))


def found(arguments: argparse.Namespace) -> "Facts":
    """The facts of this machine, or those of the given file.

    Raises:
        UsageError: the file or an interpreter cannot be used.
    """
    from gpudoctor.cli.check import answered, facts_of, machine_of

    if arguments.into:
        if arguments.python or arguments.facts:
            raise UsageError("--into names the environment, so --python and --facts have no meaning beside it.")
        arguments.python = [arguments.into]
    read = facts_of(arguments)
    if read is not None:
        return read
    from gpudoctor.cli.progress import Progress
    from gpudoctor.examine import Gathered, Wishes, examine

    machine = machine_of(arguments)
    with Progress() as progress:
        for event in examine(machine, Wishes(pythons=tuple(arguments.python), quick=True, only=("driver",))):
            progress.tell(event)
            if isinstance(event, Gathered):
                return answered(event.facts)
    raise UsageError("This machine could not be examined.")


def wishes(arguments: argparse.Namespace, facts: "Facts") -> "Wishes":
    """What the arguments wish for.

    Raises:
        UsageError: a wish is none.
    """
    import shutil

    from gpudoctor.setup.wishes import WishError, Wishes, frameworks, place, python

    try:
        return Wishes(
            frameworks=frameworks(arguments.frameworks),
            manager=arguments.manager,
            place=place(arguments.env or "gpu-env", os.path.expanduser("~"), os.getcwd()),
            into=facts.pythons[0].path if arguments.into else None,
            python=python(arguments.python_version) if arguments.python_version else None,
            driver=arguments.driver,
            container=arguments.container_toolkit,
            cpu=arguments.cpu,
            uv=shutil.which("uv") is not None,
        )
    except WishError as error:
        raise UsageError(str(error)) from None
