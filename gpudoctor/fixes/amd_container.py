"""AMD's GPUs passed into a container by its engine."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.cluster import allocatable
from gpudoctor.fixes.container import engine
from gpudoctor.tasks import Shell, Tasks, cmd, lines, query
from gpudoctor.tasks.placeholders import CONTAINER, CTID, REST


def pass_devices(facts: Facts) -> tuple[Fix, ...]:
    """Start the container with AMD's device nodes, with the options of its engine."""
    name = engine(facts)
    if name == "apptainer":
        message = (
            "Start the container with --rocm, or bind the device nodes, which --containall and --contain leave out."
        )
        commands: Tasks = (
            cmd("apptainer", "exec", "--rocm", REST),
            cmd("apptainer", "exec", "--bind", "/dev/kfd,/dev/dri", REST),
        )
    elif name == "kubernetes":
        message = "Request the GPU in the pod spec, as a limit; the node needs AMD's device plugin for it."
        limit = "spec:\n  containers:\n    - name: ...\n      resources:\n        limits:\n          amd.com/gpu: 1"
        commands = (
            lines(limit),
            allocatable("amd.com/gpu"),
        )
    elif name == "lxc":
        message = (
            "On the host, give the container /dev/kfd and /dev/dri: mount entries, and device rules for their major "
            "numbers (226 for dri; /proc/devices lists kfd's)."
        )
        commands = (
            cmd("lxc", "config", "device", "add", CONTAINER, "gpu", "gpu"),
            cmd("pct", "set", CTID, "-dev0", "/dev/kfd", "-dev1", "/dev/dri/renderD128"),
        )
    else:
        message = "Start the container with the AMD GPU's device nodes and the numeric ID of the group that owns them."
        program = "podman" if name == "podman" else "docker"
        start = f'{program} run --device /dev/kfd --device /dev/dri --group-add "$(stat -c %g /dev/kfd)" ...'
        commands = (Shell(start, placeholders=(REST,)),)
    return (
        Fix(
            message,
            commands,
            "restart-process",
            needs="a new container",
            verify=query("ls", "-l", "/dev/kfd", "/dev/dri"),
            place="outside",
        ),
    )
