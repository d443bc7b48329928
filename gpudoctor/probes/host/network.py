"""The network interfaces and RDMA devices that programs can name."""

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

INTERFACES, RDMA = "/proc/net/dev", "/sys/class/infiniband"
# The names by which NCCL and RCCL open it (NVIDIA/nccl, src/misc/ibvsymbols.cc).
_VERBS = ("libibverbs.so", "libibverbs.so.1")
# AWS's plugin as NCCL opens it, and where its installer and images put it (aws/aws-ofi-nccl; NVIDIA-NeMo/RL#1973).
_PLUGINS = ("libnccl-net.so", "libnccl-net-ofi.so")
_PLUGIN_FOLDERS = (
    *("/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu", "/opt/amazon/ofi-nccl/lib64"),
    *("/opt/amazon/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/lib"),
)
_CACHE = "/etc/ld.so.cache"


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


def rdma_library(machine: Machine) -> Maybe[bool | None]:
    """Return whether programs find the library of RDMA devices; None where there is no such device.

    Conda's NCCL finds a copy next to itself, and NVIDIA's wheels find only what is in the loader's reach.
    """
    if not rdma_devices(machine):
        return None
    own = machine.env.get("CONDA_PREFIX", "")
    if own and any(machine.exists(f"{own}/lib/{name}") for name in _VERBS):
        return True
    return _found(machine, _VERBS)


def plugin_off_path(machine: Machine) -> Maybe[str | None]:
    """Return the folder of AWS's NCCL plugin where the loader finds none; None where it finds one, or none is there."""
    if not rdma_devices(machine):
        return None
    there = [f for f in _PLUGIN_FOLDERS if any(machine.exists(f"{f}/{name}") for name in _PLUGINS)]
    if not there or machine.env.get("NCCL_NET_PLUGIN", "").startswith("/"):
        return None
    found = _found(machine, _PLUGINS)
    return found if isinstance(found, Unknown) else None if found else there[0]


def _found(machine: Machine, names: tuple[str, ...]) -> Maybe[bool]:
    """Whether the loader finds a library of one of these names."""
    from gpudoctor.parsers import ldcache, loader  # only on machines with such devices

    try:
        cache = ldcache.parse(machine.data(_CACHE), machine.architecture())
    except FileNotFoundError:
        cache = {}
    except (OSError, ValueError) as error:
        return Unknown(f"{_CACHE}: {error}")
    order = loader.search_order(machine.env.get("LD_LIBRARY_PATH", ""), cache)
    return any(loader.resolve(name, order, machine.exists) is not None for name in names)
