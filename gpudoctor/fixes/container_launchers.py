"""Who starts a Docker container in its user's place, and how that one is asked for a GPU."""

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
    """What to write where the container's environment names who started it; none where nobody is named."""
    env = facts.host.environment
    if "REMOTE_CONTAINERS" in env:
        message = (
            "In .devcontainer/devcontainer.json ask for the GPU, then rebuild the container (Dev Containers: Rebuild)."
        )
        return (_again(message, _DEVCONTAINER),)
    if any(name.startswith("ECS_CONTAINER_METADATA_URI") for name in env):
        message = "In the task definition of Amazon ECS ask for the GPU, and run the task on an instance that has one."
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
