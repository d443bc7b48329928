"""Who wants programs to use this machine's RDMA network adapters (InfiniBand, RoCE, EFA)."""

from gpudoctor.facts import Facts

_HCA, _DISABLE, _NET = "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET"
_PLUGIN, _PROVIDER = "NCCL_NET_PLUGIN", "FI_PROVIDER"
VARIABLES = (_HCA, _DISABLE, _NET, _PLUGIN, _PROVIDER)
# AWS's plugin, by the names under which NCCL finds it (aws/aws-ofi-nccl), and libfabric's provider for EFA.
_EFA = {_NET: ("AWS Libfabric", "ofi"), _PLUGIN: ("ofi", "aws-ofi", "libnccl-net-ofi.so"), _PROVIDER: ("efa",)}


def asking(facts: Facts) -> tuple[str, ...]:
    """The variables by which somebody wants NCCL to use RDMA between machines."""
    env = facts.host.environment
    wanted = {_HCA: bool(env.get(_HCA)), _DISABLE: env.get(_DISABLE) == "0", _NET: env.get(_NET) == "IB"}
    names = (name for name in VARIABLES if wanted.get(name) or env.get(name, "") in _EFA.get(name, ()))
    return tuple(f"{name}={env[name]}" for name in names)


def spans_machines(facts: Facts) -> bool:
    """Whether this machine is one of many: a batch job, or a pod."""
    return facts.host.kubernetes is True or "SLURM_JOB_ID" in facts.host.environment
