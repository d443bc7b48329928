"""User data for cloud-init: packages, files, commands as root at the first start, and a restart for the driver."""

from gpudoctor.setup.forms.parts import (
    UV,
    UV_PYTHONS,
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
from gpudoctor.setup.plan import Command, Plan


def render(plan: Plan) -> str:
    """The part, which begins with #cloud-config."""
    steps = of_group(plan, "driver", "container", "environment")
    files: list[object] = [
        {"path": file.path, "permissions": "0644", "content": file.text} for step in steps for file in step.files
    ]
    commands: list[object] = []
    if uses_uv(plan):
        commands += [list(c.argv) for c in bring_uv(plan)]
    commands += [_run(with_own_uv(c)) for step in steps for c in step.commands]
    data: dict[str, object] = {"package_update": True}
    if names := system_python(plan)[1]:
        data["packages"] = names
    if files:
        data["write_files"] = files
    if commands:
        data["runcmd"] = commands
    if any(step.reboot and step.commands for step in steps):
        data["power_state"] = {"mode": "reboot", "message": "The new driver is loaded by a restart", "timeout": 30}
    return "\n".join(["#cloud-config", *head(plan, "User data for cloud-init"), *yaml(data)]) + "\n"


def _run(command: Command) -> object:
    """A command of runcmd: a list runs without a shell, a string in one."""
    if not command.argv:
        return line(command, sudo=False)
    argv = unattended(command.argv, sudo=False)
    if argv[:1] == (f"{UV}/bin/uv",):
        argv = ("env", f"{UV_PYTHONS}={UV}/python", *argv)
    return list(argv)
