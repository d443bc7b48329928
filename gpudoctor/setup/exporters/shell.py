"""A shell script: what needs root runs only with --with-root."""

from gpudoctor.setup.exporters.common import head, isolated, line
from gpudoctor.setup.exporters.templates import Code, template
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Task


def render(plan: Plan) -> str:
    """The script."""
    asked = [step for step in plan.steps if _needs_root(step)]
    return template("shell.sh.jinja").render(
        head=Code("\n".join(head(plan, "Setup script"))),
        steps=plan.steps,
        asked=asked,
        asks=any(step.commands for step in asked),
        reboots=any(step.reboot and step.commands for step in asked),
        line=_line,
    )


def _needs_root(step: SetupStep) -> bool:
    """Whether a step changes the machine itself; one without commands is only shown."""
    return step.group in ("driver", "container") or step.asks_root


def _line(task: Task) -> Code:
    return Code(line(isolated(task)))  # the script is run in whatever directory somebody stands in
