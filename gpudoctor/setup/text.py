"""The plan for a person at a terminal."""

from typing import TYPE_CHECKING

from gpudoctor.maybe import phrase
from gpudoctor.report.renderers.text import command_line, console, headline, labelled, written
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Edit, Tasks
from gpudoctor.tasks.as_typed import shown

if TYPE_CHECKING:
    from rich.console import Console


def render(plan: Plan, width: int | None = None, colour: bool = False) -> str:
    """The plan as text.

    Args:
        plan: what to show.
        width: columns; None: 80.
        colour: whether ANSI colors are wanted.
    """
    out = console(width, colour)
    _head(out, plan)
    for refused in plan.refused:
        out.print()
        headline(out, "LEFT OUT", "bold red", refused.requested)
        labelled(out, "why", refused.why)
        if refused.instead:
            labelled(out, "instead", refused.instead)
    for number, step in enumerate(plan.steps, 1):
        _step(out, number, step, plan.sudo)
    for note in plan.notes:
        out.print()
        labelled(out, "note", note)
    return written(out)


def left(plan: Plan, steps: tuple[SetupStep, ...], width: int | None = None, colour: bool = False) -> str:
    """The steps that were not run, with their numbers and commands, as text."""
    out = console(width, colour)
    for number, step in enumerate(plan.steps, 1):
        if step in steps:
            _step(out, number, step, plan.sudo)
    return written(out)


def _head(out: "Console", plan: Plan) -> None:
    machine = plan.machine
    labelled(out, "machine", ", ".join(w for w in (machine.system, machine.architecture) if w) or "unknown")
    for number, name in enumerate(dict.fromkeys(machine.gpus)):
        times = machine.gpus.count(name)
        labelled(out, "GPUs" if number == 0 else "", name if times == 1 else f"{times} x {name}")
    if not machine.gpus:
        labelled(out, "GPUs", "none that programs can use")
    if machine.vendor == "nvidia":
        driver = phrase("NVIDIA {}", machine.driver) + phrase(", CUDA up to {}", machine.driver_cuda)
        labelled(out, "driver", driver if machine.driver else "not detected")
    if plan.wheels:
        labelled(out, "plan", _summary(plan))


def _summary(plan: Plan) -> str:
    other = {"cpu": "CPU wheels", "xpu": "wheels for Intel GPUs"}
    if plan.machine.vendor == "apple":
        other = {"cpu": "wheels for macOS"}
    what = other.get(plan.cuda or "", phrase("wheels for CUDA {}", plan.cuda))
    if (plan.cuda or "").startswith("rocm"):
        what = f"wheels for ROCm {(plan.cuda or '').removeprefix('rocm')}"
    return f"{what}{phrase(', Python {}', plan.python)}, installed by {plan.manager} in {plan.environment}"


def _step(out: "Console", number: int, step: SetupStep, sudo: bool) -> None:
    out.print()
    headline(out, f"{number}", "bold green", step.title)
    labelled(out, "why", step.why)
    for file in step.files:
        _file(out, file)
    _commands(out, "run", step.commands, sudo, "In this order:")
    after = ["needs root"] if step.root and sudo else []
    after += ["then reboot, and run this again"] if step.reboot else []
    if after:
        labelled(out, "", f"({'; '.join(after)})", "dim")
    _commands(out, "verify", step.verify, sudo)
    _commands(out, "undo", step.undo, sudo)


def _commands(out: "Console", label: str, tasks: Tasks, sudo: bool, several: str = "") -> None:
    """Commands next to their label; a sentence before several, where their order matters."""
    if several and len(tasks) > 1:
        labelled(out, label, several)
        label = ""
    for task in tasks:
        command_line(out, shown(task, sudo), label)
        label = ""


def _file(out: "Console", file: Edit) -> None:
    labelled(out, "write", f"{file.path}:")
    command_line(out, (file.text or "").rstrip("\n"))
