"""The locked memory limit is too small for RDMA."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.container import again, engine
from gpudoctor.maybe import known
from gpudoctor.queries.containers import size
from gpudoctor.queries.rdma import spans_machines
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import Edit, Shell, as_root, cmd, query
from gpudoctor.tasks.placeholders import REST

# NCCL registers several buffers of 4 MiB with each peer; systems default to 64 KiB or 8 MiB.
LITTLE = 64 << 20
# Boards with so many GPUs are made for clusters.
NODE = 4


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        name = engine(facts)
        if name == "kubernetes":
            message = "Add the capability IPC_LOCK to the pod's container (securityContext.capabilities.add)."
            return (again(message, verify=query("grep", "CapEff", "/proc/self/status")),)
        return (
            again(
                "Start the container without a locked memory limit.",
                cmd(
                    "podman" if name == "podman" else "docker",
                    "run",
                    "--ulimit",
                    "memlock=-1",
                    "--ulimit",
                    "stack=67108864",
                    REST,
                ),
                verify=Shell("ulimit -l", lookup=True),
            ),
        )
    if "SLURM_JOB_ID" in facts.host.environment:
        lines = "[Service]\nLimitMEMLOCK=infinity\n"
        unit = Edit("/etc/systemd/system/slurmd.service.d/memlock.conf", text=lines, root=True)
        return (
            Fix(
                "On the compute nodes: remove the limit of Slurm's daemon, from which jobs inherit it; limits.d does "
                "not apply to services. PropagateResourceLimitsExcept=MEMLOCK in slurm.conf keeps the login node's "
                "limit away from jobs.",
                (unit, as_root("systemctl", "daemon-reload"), as_root("systemctl", "restart", "slurmd")),
                "restart-process",
                root=True,
                needs="a new job",
                impact="persistent",
                undo=(Edit(unit.path, gone=True, root=True),),
                verify=Shell("ulimit -l", lookup=True),
            ),
        )
    lines = "* soft memlock unlimited\n* hard memlock unlimited\n"
    return (
        Fix(
            "Raise the limit for all users; services and Slurm's slurmd also need LimitMEMLOCK=infinity in their unit.",
            (Edit("/etc/security/limits.d/99-memlock.conf", text=lines, root=True),),
            "relogin",
            root=True,
            needs="relogin",
            impact="persistent",
            undo=(Edit("/etc/security/limits.d/99-memlock.conf", gone=True, root=True),),
            verify=Shell("ulimit -l", lookup=True),
        ),
    )


@check(
    title="Locked memory limit (ulimit -l) is too small for InfiniBand and RoCE",
    severity=Severity.WARNING,
    cause="An RDMA network adapter reads and writes memory directly, so that memory has to be locked. If the "
    'limit is small, NCCL fails with "ibv_reg_mr_iova2 failed ... Cannot allocate memory" as soon as it uses the '
    "adapter.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#infiniband",
        "https://github.com/NVIDIA/nccl-tests/issues/206",
        "https://slurm.schedmd.com/faq.html#memlock",
    ),
    targets=machine,
    only_with=("gpus", "host.rdma"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def memlock_small(facts: Facts) -> Problem | None:
    """Several GPUs, RDMA devices, and a lower limit than NCCL needs; a warning where jobs span machines.

    NCCL uses the adapter between machines: a workstation that has one for its network may never do so.
    """
    gpus, spans = len(gpus_of(facts)), spans_machines(facts)
    if not (gpus > 1 or (gpus and spans)) or not known(facts.host.rdma):
        return None
    limit = known(facts.host.memlock)
    if limit is None or limit >= LITTLE or known(facts.host.may_lock):
        return None
    message = (
        f"This process may lock only {size(limit)} of memory (ulimit -l), too little for the RDMA network adapter."
    )
    return Problem(message, severity=None if spans or gpus >= NODE else Severity.ADVICE)
