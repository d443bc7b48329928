"""cloud-init user data: packages, files, commands as root at the first start, and a restart for the driver."""

from gpudoctor.setup.exporters.common import (
    bring_uv,
    head,
    line,
    of_group,
    system_python,
    unattended,
    uses_uv,
    with_own_uv,
    yaml,
)
from gpudoctor.setup.plan import Plan
from gpudoctor.tasks import Command, Manual, Task


def render(plan: Plan) -> str:
    """The part, which begins with #cloud-config."""
    steps = of_group(plan, "driver", "container", "toolkit", "environment")
    files: list[object] = [
        {"path": file.path, "permissions": "0644", "content": file.text} for step in steps for file in step.files
    ]
    commands: list[object] = []
    if uses_uv(plan):
        commands += [list(c.argv) for c in bring_uv(plan)]
    commands += [_run(with_own_uv(c)) for s in steps for c in s.commands if not isinstance(c, Manual)]
    data: dict[str, object] = {"package_update": True}
    if names := system_python(plan)[1]:
        data["packages"] = names
    if files:
        data["write_files"] = files
    if commands:
        data["runcmd"] = commands
    if any(step.reboot and step.commands for step in steps):
        data["power_state"] = {"mode": "reboot", "message": "Reboot to load the new driver", "timeout": 30}
    return "\n".join(["#cloud-config", *head(plan, "cloud-init user data"), *yaml(data)]) + "\n"


def _run(task: Task) -> object:
    """A command of runcmd: a list runs without a shell, a string in one."""
    if not isinstance(task, Command):
        return line(task, sudo=False)
    quiet = unattended(task)
    argv = quiet.argv if isinstance(quiet, Command) else task.argv
    env = [f"{name}={value}" for name, value in task.env]
    return ["env", *env, *argv] if env else list(argv)
