"""`gpudoctor setup`: a plan that takes this machine to frameworks that compute on its GPU."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.confirm import NOT_HERE
from gpudoctor.cli.output import complain, out, out_json

if TYPE_CHECKING:
    from gpudoctor.facts import Facts
    from gpudoctor.setup.plan import Plan, SetupStep
    from gpudoctor.setup.request import SetupRequest

DESCRIPTION = """Plan the setup from this machine as it is to frameworks that compute on its GPU: driver, container
toolkit, matching wheels, and verification. Prints the plan and changes nothing; --run carries out the steps of the
Python environment."""

FORMS = ("shell", "dockerfile", "ansible", "cloud-init", "environment.yml")


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    from gpudoctor.cli.check import python_option, timeout_option

    one = commands.add_parser("setup", help="plan driver, wheels and environment for this GPU", description=DESCRIPTION)
    one.add_argument(
        "frameworks",
        nargs="+",
        metavar="FRAMEWORK",
        help="one or more of pytorch, tensorflow, cupy, jax, onnxruntime; torchvision, torchaudio, torchcodec; "
        "cuda-toolkit (cuda-toolkit==12.8) and cudnn for compiling",
    )
    one.add_argument(
        "--manager",
        choices=("uv", "pip", "conda", "pixi", "poetry"),
        help="installer (default: uv if available, else pip)",
    )
    where = one.add_mutually_exclusive_group()
    where.add_argument("--env", metavar="DIR", help="directory of the new environment (default: ./gpu-env)")
    where.add_argument(
        "--into", metavar="ENV", help="install into this existing environment (its directory or its Python)"
    )
    one.add_argument(
        "--upgrade", action="store_true", help="with --into: replace a PyTorch that fits this machine by the newest"
    )
    one.add_argument("--python-version", metavar="3.N", help="Python of the new environment")
    one.add_argument(
        "--driver",
        choices=("auto", "yes", "no"),
        default="auto",
        help="auto: install a driver if needed (default); yes: the newest that fits; no: keep the driver",
    )
    one.add_argument("--container-toolkit", action="store_true", help="also set up GPU access for containers")
    one.add_argument("--cpu", action="store_true", help="CPU wheels, whatever GPU this machine has")
    one.add_argument("--facts", metavar="FILE", help="plan for the machine of this facts file")
    form = one.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the plan as one JSON document")
    kind = form.add_argument(
        "--format", dest="form", choices=FORMS, metavar="KIND", help=f"write the plan as a file: {', '.join(FORMS)}"
    )
    one.former(kind, "--as")
    form.add_argument("--run", dest="carry", action="store_true", help="run the environment's steps (asks first)")
    one.add_argument("--yes", "-y", action="store_true", help="with --run: do not ask for confirmation")
    one.add_argument("--with-root", action="store_true", help="with --run: also run steps that need root")
    python_option(one)
    timeout_option(one, "150")
    one.set_defaults(run=run, quick=True, smoke=False, root="/")


def run(arguments: argparse.Namespace) -> int:
    """Plan and write; gives the exit code."""
    from gpudoctor.setup.planner import plan

    for name in ("yes", "with_root"):
        if getattr(arguments, name) and not arguments.carry:
            raise UsageError(f"--{name.replace('_', '-')} works only with --run.")
    if arguments.upgrade and not arguments.into:
        raise UsageError("--upgrade works only with --into.")
    facts = found(arguments)
    made = plan(facts, setup_request(arguments, facts))
    if made.machine.kernel == "Windows" and arguments.form not in (None, "environment.yml"):
        raise UsageError(f"--format {arguments.form} is for Linux; this plan is for Windows.")
    if arguments.carry:
        return _carried(arguments, made)
    if arguments.form and not _notes(arguments, made):
        return NOT_HERE
    show(arguments, made)
    if not (arguments.json or arguments.form or arguments.facts or made.machine.kernel == "Windows"):
        out(_how_to_run(made))
    return NOT_HERE if made.refused else OK


def _notes(arguments: argparse.Namespace, plan: "Plan") -> bool:
    """Say next to a file what only the text of a plan would; whether there is anything to write.

    A Dockerfile is often written on a machine without a GPU, where the plan is for the CPU.
    """
    from gpudoctor.report.sanitize import clean
    from gpudoctor.setup.exporters import ELSEWHERE

    for note in plan.notes:
        complain(clean(note))
    if arguments.form in ELSEWHERE and plan.cuda == "cpu" and not arguments.cpu:
        complain("For the GPU of another machine: `gpudoctor facts > gpu.json` there, then add --facts gpu.json here.")
    for refused in plan.refused:
        complain(clean(f"Left out: {refused.requested}. {refused.why} {refused.instead}".rstrip()))
    groups = {step.group for step in plan.steps}
    return bool(groups if arguments.form in ("shell", "ansible", "cloud-init") else groups & {"environment", "toolkit"})


def _how_to_run(plan: "Plan") -> str:
    """The line under a plan that says how its steps are run; empty where none can be."""
    from gpudoctor.setup.executor import sorted_out

    mine, all_ = (_numbers(plan, sorted_out(plan, root)[0]) for root in (False, True))
    if not all_:
        return ""
    ways = [f"to run {mine}, add --run"] if mine else []
    ways += [f"to run {all_}, add --run --with-root"] if all_ != mine else []
    return f"\nNothing was changed; {'; '.join(ways)}.\n"


def _numbers(plan: "Plan", steps: "tuple[SetupStep, ...]") -> str:
    """Steps for people: "step 1", "steps 1, 2"."""
    found = [str(n) for n, step in enumerate(plan.steps, 1) if step in steps]
    return f"step{'s' if len(found) > 1 else ''} {', '.join(found)}" if found else ""


def _carried(arguments: argparse.Namespace, plan: "Plan") -> int:
    """Carry the plan out, as far as its journal can be written."""
    from gpudoctor.cli import confirm
    from gpudoctor.setup.journal import JournalError

    try:
        return _carry(arguments, plan)
    except JournalError as error:
        complain(str(error))
        return confirm.STEP_FAILED


def _carry(arguments: argparse.Namespace, plan: "Plan") -> int:
    """Show the plan, ask, and carry out what may be; gives the exit code."""
    from gpudoctor.cli import confirm
    from gpudoctor.setup.executor import carry, sorted_out
    from gpudoctor.setup.exporters.common import quiet
    from gpudoctor.setup.journal import Journal, place

    if arguments.facts:
        raise UsageError("--run cannot be used with --facts: the file is from another machine.")
    if plan.machine.kernel == "Windows":
        raise UsageError("--run works on Linux and macOS; without it, the commands are shown for PowerShell.")
    if arguments.yes:
        plan = quiet(plan)
    if not arguments.into and os.path.lexists(plan.environment):
        raise UsageError(f"{plan.environment} already exists: --into installs into it, --env names another directory.")
    show(arguments, plan)
    mine, theirs = sorted_out(plan, arguments.with_root)
    if not mine:
        complain("Nothing can be run from here.")
        return NOT_HERE if plan.refused else confirm.DECLINED
    for step in theirs:
        complain(f"Left to you: {step.title}")
    if not confirm.agreed(f"Run {_numbers(plan, mine)} now?", arguments.yes):
        return confirm.DECLINED
    _must_have_programs(mine)
    if why := _out_of_reach(mine):
        complain(why)
        return confirm.STEP_FAILED
    journal = Journal(place(os.environ))
    ended = carry(mine, confirm.run, journal, confirm.tell, "setup", ask=confirm.installed)
    if ended.failed:
        confirm.failed(ended)
        return confirm.STEP_FAILED
    complain(f"Done: {', '.join(ended.done)}. The journal is {journal.path}.")
    if theirs:
        _left(plan, theirs)
    return NOT_HERE if plan.refused or theirs else OK


def _left(plan: "Plan", steps: "tuple[SetupStep, ...]") -> None:
    """What is still to be done, after pages of an installer's output."""
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.setup.text import left

    unproven = "; nothing was verified yet" if any(step.group == "proof" for step in steps) else ""
    complain(f"Left to you, in this order{unproven}:")
    out(left(plan, steps, columns(), colours(sys.stdout)))


def _out_of_reach(steps: "tuple[SetupStep, ...]") -> str | None:
    """Why the wheels of a step cannot be had, before the first step changes anything; None: they can.

    pip and uv may reach an index by settings of their own (a proxy, a mirror): they are asked where there is no answer.
    """
    from gpudoctor.cli.confirm import quietly
    from gpudoctor.setup.reachability import base_of, dry_run, indexes, unreachable

    for index, command in indexes(steps):
        reason = unreachable(index)
        if reason and quietly(dry_run(command, base_of(steps) or sys.executable)):
            wheels = " ".join(command.argv[command.argv.index(index) + 1 :])
            also = " PyPI has larger builds, which compute on the CPU as well." if index.endswith("/cpu") else ""
            return (
                f"Nothing was run: the package index {index} cannot be reached ({reason}), so {wheels} cannot be "
                f"installed. Allow this address in the firewall or the proxy (https_proxy), and run this again.{also}"
            )
    return None


def _must_have_programs(steps: "tuple[SetupStep, ...]") -> None:
    """Hold that what the steps run is installed, before the first of them changes anything.

    Raises:
        UsageError: a program is missing.
    """
    import shutil

    from gpudoctor.cli.confirm import lacks_sudo
    from gpudoctor.tasks import Command

    programs = [c.argv[0] for step in steps for c in step.commands if isinstance(c, Command)]
    names = dict.fromkeys(name for name in programs if "/" not in name and name != "gpudoctor")
    missing = [name for name in names if shutil.which(name) is None]
    missing += ["sudo"] if any(step.asks_root for step in steps) and lacks_sudo() else []
    if missing:
        raise UsageError(f"Not on PATH: {' and '.join(missing)}. Use --manager to choose another installer.")


def show(arguments: argparse.Namespace, plan: "Plan") -> None:
    """Write the plan in the form that was asked for."""
    if arguments.json:
        from gpudoctor.report.sanitize import document
        from gpudoctor.setup.plan import as_data

        out_json(document(as_data(plan)))
        return
    if arguments.form:
        from gpudoctor.report.sanitize import clean
        from gpudoctor.setup.exporters import render as as_form

        out(clean(as_form(arguments.form, plan)))
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
            raise UsageError("--into already names the environment: --python and --facts cannot be used with it.")
        arguments.python = [arguments.into]
    read = facts_of(arguments)
    if read is not None:
        return read
    from gpudoctor.cli.progress import CheckProgress
    from gpudoctor.pipeline import CheckOptions, Gathered, examine

    machine = machine_of(arguments)
    with CheckProgress() as progress:
        for event in examine(machine, CheckOptions(pythons=tuple(arguments.python), quick=True, only=("driver",))):
            progress.tell(event)
            if isinstance(event, Gathered):
                return answered(event.facts)
    raise UsageError("This machine could not be checked.")


def setup_request(arguments: argparse.Namespace, facts: "Facts") -> "SetupRequest":
    """What the arguments wish for.

    Raises:
        UsageError: a wish is none.
    """
    import shutil

    import msgspec

    from gpudoctor.setup.exporters import ELSEWHERE
    from gpudoctor.setup.request import RequestError, place, python, requested

    elsewhere = arguments.form in ELSEWHERE
    if arguments.into and arguments.form:
        raise UsageError("--format describes a new environment: --into cannot be used with it.")
    default = "/opt/gpu-env" if elsewhere else "gpu-env"
    folder = default if arguments.env is None else arguments.env
    try:
        return msgspec.structs.replace(
            requested(arguments.frameworks),
            manager=_manager(arguments, elsewhere),
            place=place(folder, os.path.expanduser("~"), None if arguments.facts else os.getcwd()),
            into=facts.pythons[0].path if arguments.into else None,
            upgrade=arguments.upgrade,
            python=python(arguments.python_version) if arguments.python_version else None,
            driver=arguments.driver,
            container=arguments.container_toolkit,
            cpu=arguments.cpu,
            uv=elsewhere or shutil.which("uv") is not None,
            base="python3" if elsewhere else None,
        )
    except RequestError as error:
        raise UsageError(str(error)) from None


def _manager(arguments: argparse.Namespace, elsewhere: bool) -> str | None:
    """Who installs, as far as the form decides.

    Raises:
        UsageError: the form knows no such manager.
    """
    if elsewhere and arguments.manager not in (None, "uv", "pip"):
        raise UsageError(f"--format {arguments.form} supports uv and pip, not {arguments.manager}.")
    if arguments.form == "environment.yml":
        if arguments.manager not in (None, "conda"):
            raise UsageError(f"--format environment.yml supports conda, not {arguments.manager}.")
        return "conda"
    return str(arguments.manager) if arguments.manager else "uv" if elsewhere else None
