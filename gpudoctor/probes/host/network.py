"""The network interfaces and RDMA devices that programs can name."""

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

INTERFACES, RDMA = "/proc/net/dev", "/sys/class/infiniband"


def interfaces(machine: Machine) -> Maybe[tuple[str, ...]]:
    """Return the names of the interfaces in this process's network namespace.

    A container may show the host's /sys/class/net; /proc/net/dev is always that of the process that reads it.
    """
    lines = (machine.line(INTERFACES) or "").splitlines()[2:]  # two lines of headings (proc_net(5))
    found = tuple(name.strip() for line in lines if (name := line.rpartition(":")[0]))
    return found or Unknown(f"{INTERFACES} lists no interface")


def rdma_devices(machine: Machine) -> tuple[str, ...]:
    """Return the names of the RDMA devices: mlx5_0, mlx5_1 ..."""
    return tuple(machine.names(RDMA))
