"""A list of tasks for Ansible; every one with what shows that it has been done already, where there is such a thing."""

from gpudoctor.setup.commands import needs_root
from gpudoctor.setup.forms.parts import (
    UV,
    UV_PYTHONS,
    bring_uv,
    head,
    line,
    unattended,
    uses_uv,
    with_own_uv,
    yaml,
)
from gpudoctor.setup.plan import Command, Plan, Step

_VENV = ["python3-venv"]


def render(plan: Plan) -> str:
    """The tasks, as a file for import_tasks or include_tasks; the play gathers facts."""
    tasks: list[object] = []
    for step in plan.steps:
        if step.group == "environment" and not any(_is_ours(t) for t in tasks):
            tasks += _before(plan)
        tasks += _of(plan, step)
    lines = ["---", *head(plan, "A list of tasks for Ansible"), *yaml(tasks)]
    return "\n".join(lines) + "\n"


def _is_ours(task: object) -> bool:
    return isinstance(task, dict) and task.get("name") == _BRING


_BRING = "Install what makes virtual environments"


def _before(plan: Plan) -> list[object]:
    """What the environment's steps need: the module venv, and uv."""
    found: list[object] = [
        {
            "name": _BRING,
            "ansible.builtin.package": {"name": _VENV, "state": "present"},
            "become": True,
            "when": "ansible_facts['os_family'] == 'Debian'",
        }
    ]
    if uses_uv(plan):
        made, filled = bring_uv()
        found.append(_task("Make an environment for uv", made, become=True, creates=f"{UV}/bin/python"))
        found.append(_task("Bring uv", filled, become=True, creates=f"{UV}/bin/uv"))
    return found


def _of(plan: Plan, step: Step) -> list[object]:
    become = step.root or any(needs_root(c) for c in step.commands) or step.group == "environment"
    creates = plan.interpreter if step.id == "environment" else None
    found: list[object] = []
    for file in step.files:
        folder = {"path": file.path.rpartition("/")[0], "state": "directory", "mode": "0755"}
        found.append({"name": "Make the folder", "ansible.builtin.file": folder, "become": True})
        content = {"dest": file.path, "content": file.text, "mode": "0644"}
        found.append({"name": f"Write {file.path}", "ansible.builtin.copy": content, "become": True})
    if step.group == "proof":
        return [_task(step.title.rstrip("."), c, become=False, proof=True) for c in step.commands]
    found += [_task(step.title.rstrip("."), with_own_uv(c), become=become, creates=creates) for c in step.commands]
    if step.reboot and step.commands:
        found.append({"name": "Restart the machine", "ansible.builtin.reboot": {}, "become": True})
    if not found:
        found.append({"name": "To be done by hand", "ansible.builtin.debug": {"msg": step.title}})
    return found


def _task(
    name: str, command: Command, *, become: bool, creates: str | None = None, proof: bool = False
) -> dict[str, object]:
    """A task that runs a command, without a shell where that is possible."""
    what: dict[str, object] = {}
    if command.argv:
        what["argv"] = list(unattended(command.argv, sudo=False))
    else:
        what["cmd"] = line(command, sudo=False)
    if creates:
        what["creates"] = creates
    module = "ansible.builtin.command" if command.argv else "ansible.builtin.shell"
    task: dict[str, object] = {"name": name, module: what}
    if command.argv[:1] == (f"{UV}/bin/uv",):
        task["environment"] = {UV_PYTHONS: f"{UV}/python"}
    if become:
        task["become"] = True
    if proof:
        task["changed_when"] = False
    return task
