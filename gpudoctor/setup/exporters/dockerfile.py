"""A fragment of a Dockerfile; the driver and the toolkit belong to the host, and the image needs neither."""

import re
import shlex

from gpudoctor.setup.exporters.common import (
    UV,
    UV_PYTHONS,
    bring_uv,
    head,
    line,
    of_group,
    remarks,
    uses_uv,
    with_own_uv,
)
from gpudoctor.setup.plan import Plan, TargetPlatform
from gpudoctor.tasks import Command, Edit
from gpudoctor.tasks.as_typed import shown


def render(plan: Plan) -> str:
    """The fragment, to be put below a FROM line of Debian or Ubuntu."""
    lines = [*head(plan, "Dockerfile fragment for Debian and Ubuntu images")]
    for step in of_group(plan, "driver", "container"):
        lines += remarks(f"On the host, not here: {step.title}")
    packages = "python3 python3-venv python3-pip ca-certificates"
    lines += [
        "# Keep no download caches in the image.",
        "ARG PIP_NO_CACHE_DIR=1",
        "ARG UV_NO_CACHE=1",
        "RUN apt-get update \\",
        f"    && apt-get install --yes --no-install-recommends {packages} \\",
        "    && rm -rf /var/lib/apt/lists/*",
    ]
    if uses_uv(plan):
        lines += [f"ENV {UV_PYTHONS}={UV}/python", *(f"RUN {line(c)}" for c in _uv())]
    for step in of_group(plan, "environment"):
        lines += ["", *remarks(step.title), *remarks(step.why)]
        for file in step.files:
            lines += _file(file)
        lines += [f"RUN {line(with_own_uv(c, env=False), sudo=False)}" for c in step.commands]
    folder = plan.interpreter.removesuffix("/python")
    lines += ["", f"ENV PATH={_value(folder)}:$PATH"]
    if plan.machine.vendor == "nvidia":
        lines += ["ENV NVIDIA_VISIBLE_DEVICES=all", "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility"]
    for step in of_group(plan, "proof"):
        lines += remarks("Verify in a container with the GPU (docker run --gpus all ...):")
        lines += [one for c in step.commands for one in remarks(shown(c), 10_000)]
    return "\n".join(lines) + "\n"


def _uv() -> tuple[Command, ...]:
    """Whatever this machine is, the image has Debian's or Ubuntu's Python."""
    return bring_uv(Plan(machine=TargetPlatform(family="debian")))


def _file(file: Edit) -> list[str]:
    mark = "END_OF_FILE"
    while mark in (file.text or ""):
        mark += "_"
    path = shlex.quote(file.path)
    # COPY takes no quotes, and puts the values of variables in its words.
    into = f"COPY <<'{mark}' {path}"
    if path != file.path:
        into = f"RUN mkdir -p {shlex.quote(file.path.rpartition('/')[0])} && cat > {path} <<'{mark}'"
    return [into, *(file.text or "").rstrip("\n").splitlines(), mark]


def _value(text: str) -> str:
    """A value of ENV: quoted where a blank would end it, or a dollar sign begin a variable.

    https://docs.docker.com/reference/dockerfile/#environment-replacement
    """
    return text if shlex.quote(text) == text else '"' + re.sub(r'(["\\$])', r"\\\1", text) + '"'
