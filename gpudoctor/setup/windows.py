"""A plan in Windows' words: PowerShell's, to be typed by a person."""

import msgspec

from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Manual, Task
from gpudoctor.tasks.as_typed import in_powershell, on_windows


def worded(plan: Plan) -> Plan:
    """The plan with commands for PowerShell, and with the paths of environments on Windows."""
    return msgspec.structs.replace(
        plan,
        environment=on_windows(plan.environment),
        interpreter=on_windows(plan.interpreter),
        steps=tuple(_step(plan, step) for step in plan.steps),
    )


def _step(plan: Plan, step: SetupStep) -> SetupStep:
    return msgspec.structs.replace(
        step,
        title=step.title.replace(plan.interpreter, on_windows(plan.interpreter)),
        commands=tuple(map(_typed, step.commands)),
        verify=tuple(map(_typed, step.verify)),
        undo=tuple(map(_typed, step.undo)),
    )


def _typed(task: Task) -> Task:
    return Manual(in_powershell(task), "PowerShell")
