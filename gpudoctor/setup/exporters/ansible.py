"""A list of tasks for Ansible, to be played again and again: what is there already is left as it is."""

import re

from gpudoctor.setup.exporters.common import (
    UV,
    bring_uv,
    head,
    line,
    system_python,
    unattended,
    uses_uv,
    with_own_uv,
    yaml,
)
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Command, Manual, Task

# What a machine has already, asked before its tasks: the name of the answer, the command, what says that it is not so.
_ASKED = {
    "driver": (
        "gpudoctor_driver",
        ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "gpudoctor_driver.rc | default(1) != 0 or "
        "(gpudoctor_driver.stdout_lines | first | default('0')) is version('{wanted}', '<')",
    ),
    "container": (
        "gpudoctor_toolkit",
        ("nvidia-ctk", "--version"),
        "gpudoctor_toolkit.rc | default(1) != 0",
    ),
    "toolkit": (
        "gpudoctor_nvcc",
        ("/usr/local/cuda-{cuda}/bin/nvcc", "--version"),
        "gpudoctor_nvcc.rc | default(1) != 0",
    ),
}


def render(plan: Plan) -> str:
    """The tasks, as a file for import_tasks or include_tasks; the play gathers facts."""
    tasks: list[object] = []
    first = next((step for step in plan.steps if step.group == "environment"), None)
    for step in plan.steps:
        if step is first:
            tasks += _before(plan)
        tasks += _of(plan, step)
    lines = ["---", *head(plan, "Ansible tasks"), *(_plainly(one) for one in yaml(tasks))]
    return "\n".join(lines) + "\n"


def _plainly(line: str) -> str:
    """A line whose string is no template: Ansible would run one on the machine that it is started on.

    https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_advanced_syntax.html#unsafe-or-raw-strings
    """
    return re.sub(r'^( *(?:- )?(?:[\w.]+: )?)(?=".*\{[{%#])', r"\1!unsafe ", line)


def _before(plan: Plan) -> list[object]:
    """What the environment's steps need: the module venv, and uv."""
    _, names = system_python(plan)
    found: list[object] = []
    if names:
        brought = {"name": names, "state": "present"}
        found.append({"name": "Install the venv module", "ansible.builtin.package": brought, "become": True})
    if uses_uv(plan):
        made, filled = bring_uv(plan)
        found.append(_task("Create an environment for uv", made, become=True, creates=f"{UV}/bin/python"))
        found.append(_task("Install uv", filled, become=True, creates=f"{UV}/bin/uv"))
    return found


def _of(plan: Plan, step: SetupStep) -> list[object]:
    if step.group == "proof":
        return [_task(name, c, become=False) | {"changed_when": False} for name, c in _named(step)]
    if not step.commands and not step.files:
        return [{"name": "Manual step", "ansible.builtin.debug": {"msg": step.title}}]
    asked, when = _asked(plan, step)
    found = [*_files(step), *_commands(plan, step)]
    if step.reboot:
        found.append({"name": "Reboot", "ansible.builtin.reboot": {}, "become": True})
    return [*asked, *(task | when for task in found)]


def _asked(plan: Plan, step: SetupStep) -> tuple[list[object], dict[str, object]]:
    """The task that asks whether a step is needed, and the condition of the step's tasks."""
    if step.group not in _ASKED or (step.group == "toolkit" and "cuda-toolkit" not in plan.requested):
        return [], {}
    name, argv, condition = _ASKED[step.group]
    task: dict[str, object] = {
        "name": f"Check whether it is needed: {step.group}",
        "ansible.builtin.command": {"argv": [word.format(cuda=plan.toolkit or "") for word in argv]},
        "register": name,
        "check_mode": False,  # asking changes nothing, and ansible-playbook --check needs the answer
        "changed_when": False,
        "failed_when": False,
    }
    return [task], {"when": condition.format(wanted=plan.driver_branch or 0)}


def _files(step: SetupStep) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for file in step.files:
        folder = {"path": file.path.rpartition("/")[0], "state": "directory", "mode": "0755"}
        found.append({"name": "Create the directory", "ansible.builtin.file": folder, "become": True})
        content = {"dest": file.path, "content": file.text, "mode": "0644"}
        found.append({"name": f"Write {file.path}", "ansible.builtin.copy": content, "become": True})
    return found


def _commands(plan: Plan, step: SetupStep) -> list[dict[str, object]]:
    become = step.asks_root or step.group == "environment"
    creates = plan.interpreter if step.id == "environment" else None
    return [_task(name, with_own_uv(c), become=become, creates=creates) for name, c in _named(step)]


def _named(step: SetupStep) -> list[tuple[str, Task]]:
    """Each command by the step's sentence, with its place where there are several."""
    title, several = step.title.rstrip("."), len(step.commands)
    return [(f"{title} ({n} of {several})" if several > 1 else title, c) for n, c in enumerate(step.commands, 1)]


def _task(name: str, task: Task, *, become: bool, creates: str | None = None) -> dict[str, object]:
    """A task of Ansible that does one of ours, without a shell where that is possible."""
    if isinstance(task, Manual):
        return {"name": "Manual step", "ansible.builtin.debug": {"msg": task.text}}
    quiet = unattended(task)
    made: dict[str, object] = {"name": name}
    what: dict[str, object] = {"creates": creates} if creates else {}
    if isinstance(quiet, Command):
        made["ansible.builtin.command"] = {"argv": list(quiet.argv)} | what
        made |= {"environment": dict(quiet.env)} if quiet.env else {}
    else:
        made["ansible.builtin.shell"] = {"cmd": line(task, sudo=False)} | what
    if become:
        made["become"] = True
    return made
