"""Generate a CDI specification again, as what wrote it does."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import nixos
from gpudoctor.tasks import Task, as_root, query

_LIST = query("nvidia-ctk", "cdi", "list")


def regenerate(facts: Facts, path: str, then: str, verify: Task = _LIST) -> Fix:
    """Write a specification again by its service, where one writes it, else by nvidia-ctk.

    Args:
        facts: the machine.
        path: the file.
        then: a sentence about what keeps it up to date.
        verify: what shows that it is right again.
    """
    name = path.rpartition("/")[2]
    own = path.startswith("/var/run/")
    # The device plugin's and the GPU Operator's files have other kinds, which they are named after.
    if own and name.startswith(("k8s.", "management.")):
        message = f"Recreate the pods of the device plugin and of the GPU Operator on this node: they write {name}."
        return Fix(message, (), "restart-process", needs="new containers", verify=verify)
    message, task = "Regenerate the specification.", as_root("nvidia-ctk", "cdi", "generate", f"--output={path}")
    if own and nixos.is_nixos(facts):  # nixpkgs, nixos/modules/services/hardware/nvidia-container-toolkit
        message = "Regenerate the specification by the service that wrote it."
        task = as_root("systemctl", "restart", "nvidia-container-toolkit-cdi-generator.service")
    elif own and facts.containers.cdi_service is True:
        message = "Regenerate the specification by the service that wrote it."
        task = as_root("systemctl", "restart", "nvidia-cdi-refresh.service")
    return Fix(
        f"{message} {then}".rstrip(),
        (task,),
        "change-environment",
        root=True,
        needs="new containers",
        verify=verify,
    )
