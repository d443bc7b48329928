"""A fragment of a Dockerfile; the driver and the toolkit belong to the host, and the image needs neither."""

import re
import shlex

from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import present
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
from gpudoctor.setup.exporters.templates import Code, template
from gpudoctor.setup.plan import Plan, TargetPlatform
from gpudoctor.tasks import Task
from gpudoctor.tasks.as_typed import shown

# Where the frameworks are verified, by the vendor of the GPU that they compute on.
_WHERE = {
    "nvidia": "Verify in a container with the GPU (docker run --gpus all ...):",
    "amd": "Verify in a container with the GPU (docker run --device /dev/kfd --device /dev/dri ...):",
    "intel": "Verify in a container with the GPU (docker run --device /dev/dri ...):",
}


def render(plan: Plan) -> str:
    """The fragment, to be put below a FROM line of Debian or Ubuntu."""
    debian = Plan(machine=TargetPlatform(family="debian"))  # whatever this machine is, the image is that
    return template("dockerfile.jinja").render(
        head=Code("\n".join(head(plan, "Dockerfile fragment for Debian and Ubuntu images"))),
        host=of_group(plan, "driver", "container"),
        uv=bring_uv(debian) if uses_uv(plan) else (),
        uv_pythons=Code(UV_PYTHONS),
        uv_directory=Code(UV),
        environment=of_group(plan, "environment"),
        toolkit=_image(plan) if of_group(plan, "toolkit") else "",
        path=_value(plan.interpreter.removesuffix("/python")),
        nvidia=plan.machine.vendor == "nvidia",
        proof=of_group(plan, "proof"),
        where=_WHERE.get("" if plan.cuda == "cpu" else plan.machine.vendor or "", "Verify in a container:"),
        line=_line,
        verify=lambda task: Code("\n".join(remarks(shown(task), 10_000))),
        is_plain=lambda path: shlex.quote(path) == path,  # COPY takes no quotes, and expands variables
    )


def _image(plan: Plan) -> str:
    """NVIDIA's image with the compiler, to be put into the FROM line: in images the toolkit is not installed."""
    cuda, cudnn = present(plan.toolkit), "cudnn-" if "cudnn" in plan.requested else ""
    ubuntu = "24.04" if version(cuda) >= (12, 5) else "22.04"  # which has no older images
    return f"The CUDA toolkit comes with the image: FROM nvidia/cuda:{cuda}.0-{cudnn}devel-ubuntu{ubuntu}"


def _line(task: Task) -> Code:
    return Code(line(with_own_uv(task, env=False), sudo=False))


def _value(text: str) -> Code:
    """A value of ENV: quoted where a blank would end it, or a dollar sign begin a variable.

    https://docs.docker.com/reference/dockerfile/#environment-replacement
    """
    return Code(text if shlex.quote(text) == text else '"' + re.sub(r'(["\\$])', r"\\\1", text) + '"')
