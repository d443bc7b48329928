"""RDMA network adapters can be used here, and the library for them is not installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.loading import of_system
from gpudoctor.maybe import known
from gpudoctor.queries.rdma import asking, spans_machines
from gpudoctor.targets import gpus_of, in_container, machine
from gpudoctor.tasks import filtered, query

# What NCCL opens, and the part of it that knows NVIDIA's adapters, which is a package of its own on Debian and SUSE.
_LIBRARIES = ("libibverbs.so.1", "libmlx5.so.1")
_VERIFY = filtered(query("ldconfig", "-p"), query("grep", "libibverbs"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = of_system(facts, _LIBRARIES, _VERIFY)
    message = "Install the RDMA core libraries (libibverbs and the providers of the adapters)."
    return found or (Fix(message, (), "reinstall-package", root=True, verify=_VERIFY),)


@check(
    title="The RDMA library (libibverbs) is missing: NCCL uses TCP sockets",
    severity=Severity.WARNING,
    cause="NCCL and RCCL open libibverbs, which no wheel brings and small images do not have. Without it they log "
    "'Failed to open libibverbs.so[.1]' and 'NET/IB : No device found', and use TCP sockets between machines, which "
    "are many times slower.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#infiniband",
        "https://github.com/sgl-project/sglang/pull/1427",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1877",
        "https://github.com/PrimeIntellect-ai/prime-rl/pull/1599",
    ),
    targets=machine,
    only_with=("gpus", "host.rdma"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def rdma_library_missing(facts: Facts) -> Problem | None:
    """Adapters that programs can open, and no library; advice where nothing shows that jobs span machines.

    A container gets the adapters' nodes only where somebody passed them to it.
    """
    if not gpus_of(facts) or not known(facts.host.rdma) or known(facts.host.rdma_library) is not False:
        return None
    asked = asking(facts)
    wanted = asked or in_container(facts) or spans_machines(facts)
    place = "this container" if in_container(facts) else "this machine"
    message = f"RDMA network adapters can be used in {place}, but libibverbs is not installed: NCCL uses TCP sockets."
    return Problem(message, asked, severity=None if wanted else Severity.ADVICE)
