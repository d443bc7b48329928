"""The driver's capabilities that a container asks for: which of the driver's libraries the runtime injects."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import POD_AGAIN, again, engine
from gpudoctor.fixes.engines import COMPOSE_UP
from gpudoctor.targets import in_system_container
from gpudoctor.tasks import Task, cmd, export, filtered, query
from gpudoctor.tasks.placeholders import NAME, POD, REST


def compute_capability(facts: Facts) -> tuple[Fix, ...]:
    """Start the container so that libcuda is injected too, not only the tools."""
    return driver_capability(facts, "compute", "libcuda")


def driver_capability(facts: Facts, capability: str, library: str) -> tuple[Fix, ...]:
    """Start the container so that the driver's libraries of a capability are injected too.

    Args:
        facts: the machine.
        capability: "compute", "video", "graphics".
        library: one of its libraries, as ldconfig lists it.
    """
    proof = filtered(query("ldconfig", "-p"), query("grep", library))
    if in_system_container(facts):
        message = (
            f"Install the package that contains {library} in the container, in exactly the version of the host's "
            "module."
        )
        return (Fix(message, (), "reinstall-package", root=True, verify=proof),)
    name = "NVIDIA_DRIVER_CAPABILITIES"
    value = ",".join(sorted({*(_capabilities(facts) - {"all", "void", "none"}), "compute", "utility", capability}))
    variable = f"{name}={value}"
    compose = again(
        "If Compose starts it: `capabilities` of the reserved device overrides that variable, so write `capabilities: "
        f"[gpu]` or `[gpu, {value.replace(',', ', ')}]` there, not `[gpu, utility]`.",
        COMPOSE_UP,
        verify=proof,
    )
    if has_capability(facts, capability):
        return (_from_node(library),) if engine(facts) == "kubernetes" else (compose, _all_capabilities(proof))
    if engine(facts) == "enroot":
        message = f"Set {variable} before the container starts (by default enroot's hook injects utility only)."
        return (again(message, export(name, value), cmd("enroot", "start", NAME), verify=proof),)
    run = again(
        f"Recreate the container with {variable}; in your own image add ENV {variable} to the Dockerfile.",
        cmd("docker", "run", "--gpus", "all", "-e", variable, REST),
        verify=proof,
    )
    if engine(facts) == "kubernetes":
        message = f"Set {variable} in env of the pod's container, or in the image, and restart the pod."
        found = cmd("kubectl", "exec", POD, "--", "sh", "-c", f"ldconfig -p | grep {library}")
        return (again(message, verify=found, needs=POD_AGAIN),)
    return run, compose


def _capabilities(facts: Facts) -> set[str]:
    """The driver capabilities that the environment names."""
    return {one.strip() for one in facts.host.environment.get("NVIDIA_DRIVER_CAPABILITIES", "").split(",")} - {""}


def has_capability(facts: Facts, capability: str) -> bool:
    """Whether the environment asks for this driver capability already."""
    return bool(_capabilities(facts) & {"all", capability})


def _all_capabilities(proof: Task) -> Fix:
    return again(
        "If `docker run` starts it: recreate the container without capabilities in --gpus "
        "(such as --gpus 'all,capabilities=utility').",
        cmd("docker", "run", "--gpus", "all", REST),
        verify=proof,
    )


def _from_node(library: str) -> Fix:
    """The pod asks for it already."""
    listed = filtered(query("nvidia-container-cli", "list"), query("grep", library))
    return Fix(
        f"On the node: install the driver's package that contains {library}, in exactly the version of its module, and "
        "restart the pod. The command lists what the node's runtime injects.",
        (listed,),
        "reinstall-package",
        needs=POD_AGAIN,
        verify=cmd("kubectl", "exec", POD, "--", "sh", "-c", f"ldconfig -p | grep {library}"),
        place="outside",
    )
