"""What starts a Docker container for its user, and how to request a GPU from it."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.tasks import lines, query

_DEVCONTAINER = """{
  "runArgs": ["--gpus", "all"]
}"""
_ECS = """"containerDefinitions": [{
  "resourceRequirements": [{"type": "GPU", "value": "1"}]
}]"""


def starters(facts: Facts) -> tuple[Fix, ...]:
    """What to write where the container's environment names its launcher; nothing where it names none."""
    env = facts.host.environment
    if "REMOTE_CONTAINERS" in env:
        message = (
            "In .devcontainer/devcontainer.json request the GPU, then rebuild the container (Dev Containers: Rebuild)."
        )
        return (_again(message, _DEVCONTAINER),)
    if any(name.startswith("ECS_CONTAINER_METADATA_URI") for name in env):
        message = "In the task definition of Amazon ECS request the GPU, and run the task on an instance that has one."
        return (_again(message, _ECS),)
    return ()


def _again(message: str, block: str) -> Fix:
    return Fix(
        message,
        (lines(block),),
        "restart-process",
        needs="a new container",
        verify=query("nvidia-smi"),
        place="outside",
    )
