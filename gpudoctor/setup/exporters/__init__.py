"""The plan as a file for other tools: one form a file."""

from collections.abc import Callable
from importlib import import_module

from gpudoctor.setup.plan import Plan

# The name that a user types, and the module that writes it.
FORMS = {
    "shell": "shell",
    "dockerfile": "dockerfile",
    "ansible": "ansible",
    "cloud-init": "cloud_init",
    "environment.yml": "conda",
}
# Those that are for other machines than this one, so that nothing of this one's directories belongs into them.
ELSEWHERE = ("dockerfile", "ansible", "cloud-init")


def render(form: str, plan: Plan) -> str:
    """The plan in a form of FORMS."""
    write: Callable[[Plan], str] = import_module(f"gpudoctor.setup.exporters.{FORMS[form]}").render
    return write(plan)
