"""A plan in Windows' words: PowerShell's, to be typed by a person."""

import re

import msgspec

from gpudoctor.remedies import nt
from gpudoctor.setup.commands import by_hand
from gpudoctor.setup.plan import Command, Plan, Step


def worded(plan: Plan) -> Plan:
    """The plan with commands for PowerShell, and with the paths of environments on Windows."""
    return msgspec.structs.replace(
        plan,
        environment=nt.command(plan.environment),
        interpreter=_inside(plan.interpreter),
        steps=tuple(_step(step) for step in plan.steps),
    )


def _step(step: Step) -> Step:
    return msgspec.structs.replace(
        step,
        title=_inside(step.title),
        commands=tuple(_command(c) for c in step.commands),
        verify=tuple(_command(c) for c in step.verify),
        undo=tuple(_command(c) for c in step.undo),
    )


def _command(command: Command) -> Command:
    text = re.sub(r"^rm -rf (.+)$", r"Remove-Item -Recurse -Force \1", command.shown)
    return by_hand(_inside(text))


def _inside(text: str) -> str:
    """The Python of conda's and pixi's environments lies at their top there."""
    return nt.command(text.replace("/envs/default/bin/python", "/envs/default/python.exe"))
