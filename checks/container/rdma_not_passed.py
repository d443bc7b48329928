"""A container to which its machine's RDMA network adapters were not passed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import POD_AGAIN, again, engine
from gpudoctor.maybe import known
from gpudoctor.queries.rdma import VARIABLES, asking
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import REST

_VERIFY = query("ls", "/dev/infiniband")
_NAMED = 4  # adapters in a sentence


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if engine(facts) == "kubernetes":
        message = (
            "Request the adapter in the pod's limits, by the name under which the cluster's RDMA device plugin offers "
            "it (such as rdma/rdma_shared_device_a), and add the capability IPC_LOCK."
        )
        return (again(message, verify=_VERIFY, needs=POD_AGAIN),)
    program = "podman" if engine(facts) == "podman" else "docker"
    message = "Recreate the container with the adapter's device nodes, and without a limit on locked memory."
    options = ("--device", "/dev/infiniband", "--cap-add", "IPC_LOCK", "--ulimit", "memlock=-1")
    return (again(message, cmd(program, "run", *options, REST), verify=_VERIFY),)


@check(
    title="RDMA network adapters were not passed into this container: NCCL uses TCP sockets",
    severity=Severity.WARNING,
    cause="NCCL opens /dev/infiniband/uverbsN to use InfiniBand or RoCE. A container sees the adapters of its machine "
    "in /sys/class/infiniband, but has their device nodes only if they were passed to it; --gpus and --network host do "
    'not do that. Without them NCCL logs "NET/IB : No device found" and uses TCP sockets, which are much slower.',
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#infiniband",
        "https://github.com/vllm-project/vllm/issues/42075",
        "https://github.com/aws/aws-ofi-nccl/issues/1020",
    ),
    targets=machine,
    only_with=(f"host.environment={','.join(VARIABLES)}",),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def rdma_not_passed(facts: Facts) -> Problem | None:
    """Adapters in sysfs, none in /dev, and a variable that asks NCCL to use them; on one machine nobody needs them."""
    asked = asking(facts)
    if not asked or not in_container(facts) or not gpus_of(facts, "nvidia"):
        return None
    devices = known(facts.host.rdma_devices)
    if not devices or known(facts.host.rdma):
        return None
    more = f" and {len(devices) - _NAMED} more" if len(devices) > _NAMED else ""
    names = f"{', '.join(devices[:_NAMED])}{more}"
    message = (
        f"The machine has RDMA adapters ({names}), but /dev/infiniband was not passed into this container: NCCL uses "
        "TCP sockets."
    )
    return Problem(message, (*asked, "/dev/infiniband: no uverbs device"))
