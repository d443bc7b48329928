"""A variable of NCCL or Gloo names a network interface that this machine does not have."""

from collections.abc import Sequence

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, NcclSetting
from gpudoctor.fixes.nccl import withdraw
from gpudoctor.fixes.variables import assign
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.nccl import setting, where
from gpudoctor.targets import gpus_of, machine

SOCKET, HCA = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"
# Gloo and TensorPipe take exact names, separated by commas, and need each of them.
EXACT = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
# Virtual interfaces that lead to no other machine.
_LOCAL = ("lo", "docker", "veth", "br-", "virbr", "cni", "flannel", "cali", "tun", "tap", "dummy", "podman")

_MOST = 8  # names in a sentence
_LOOPBACK = "lo"
_WHY_LOOPBACK = (
    "As long as the variable is not set, NCCL leaves lo and docker* out by itself. A list of exclusions of one's own "
    "stands for that, and lo is the first interface of a machine."
)


def chosen(value: str, there: Sequence[str]) -> list[str]:
    """The interfaces or devices that NCCL takes: a list of prefixes, "=" for whole names, "^" for all others.

    A port may follow each name ("mlx5_0:1").
    """
    excluded = value.startswith("^")
    text = value[1:] if excluded else value
    exact = text.startswith("=")
    names = [name.partition(":")[0] for name in text.removeprefix("=").split(",") if name]
    return [
        one
        for one in there
        if not names or excluded != any(one == name if exact else one.startswith(name) for name in names)
    ]


def _lets_loopback_in(facts: Facts, value: str, there: Sequence[str]) -> bool:
    """Whether a job of several nodes excludes interfaces and not lo, which NCCL then takes: it is the first."""
    if not value.startswith("^") or "lo" not in chosen(value, there):
        return False
    size, here = _number(facts, "WORLD_SIZE"), len(gpus_of(facts))
    return max(_number(facts, "NNODES"), _number(facts, "SLURM_JOB_NUM_NODES")) > 1 or size > here > 0


def _number(facts: Facts, name: str) -> int:
    return number_of(facts.host.environment.get(name, "")) or 0


def _named(facts: Facts) -> dict[str, NcclSetting]:
    """The variables that name something; those of Gloo and RPC only as the environment has them."""
    found = {name: setting(facts, name) for name in (SOCKET, *EXACT, HCA)}
    return {name: one for name, one in found.items() if one and one.value.strip()}


def _wrong(facts: Facts) -> dict[str, tuple[str, str]]:
    """Each variable that names nothing that is here, with what it names and what that leads to."""
    named, wrong = {name: one.value.strip() for name, one in _named(facts).items()}, dict[str, tuple[str, str]]()
    there = known(facts.host.interfaces) if named.keys() - {HCA} else ()
    if SOCKET in named and not chosen(named[SOCKET], there):
        wrong[SOCKET] = named[SOCKET], "NCCL stops with 'no socket interface found'"
    elif _lets_loopback_in(facts, named.get(SOCKET, ""), there):
        wrong[SOCKET] = named[SOCKET], _LOOPBACK
    for name in EXACT:
        missing = [each for each in named.get(name, "").split(",") if each and each not in there]
        if missing:
            wrong[name] = missing[0], f"{'Gloo' if name == EXACT[0] else 'RPC'} finds no address for it"
    devices = known(facts.host.rdma_devices) if HCA in named else ()
    if devices and not chosen(named[HCA], devices):
        wrong[HCA] = named[HCA], "NCCL uses slow network sockets instead of RDMA"
    return wrong


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    wrong = _wrong(facts)
    named = _named(facts)
    if wrong.get(SOCKET, ("", ""))[1] == _LOOPBACK:
        also = f"^lo,{named[SOCKET].value.strip().removeprefix('^')}"
        free = withdraw(facts, named[SOCKET], why="NCCL then excludes lo and docker by itself.")
        return *free, assign(SOCKET, also, "Or exclude lo as well.")
    outside = [name for name in known_or(facts.host.interfaces, ()) if not name.startswith(_LOCAL)]
    sockets = [name for name in wrong if name != HCA]
    why = "NCCL and Gloo then choose an interface themselves."
    free = withdraw(facts, *(named[name] for name in wrong), why=why)
    if len(outside) != 1 or not sockets:
        return free
    message = f"Name the interface of this machine: {outside[0]}."
    return *free, *(assign(name, outside[0], message) for name in sockets[:1])


@check(
    title="NCCL_SOCKET_IFNAME or a similar variable names no usable network interface",
    severity=Severity.WARNING,
    cause="NCCL, RCCL and Gloo use only the interfaces that these variables name, and names differ from machine to "
    "machine (eth0, enp90s0np0, ib0). If none matches, the first collective operation fails, also between GPUs of one "
    "machine, because processes find each other over the network.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname",
        "https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use",
        "https://github.com/NVIDIA/nccl/issues/1837",
        "https://github.com/NVIDIA/nccl/issues/286",
    ),
    targets=machine,
    only_with=("gpus", f"host.environment={','.join((SOCKET, *EXACT, HCA))} host.nccl_settings"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def interface_missing(facts: Facts) -> Problem | None:
    """ERROR where several GPUs need NCCL's; WARNING else."""
    if not _named(facts) or not gpus_of(facts):
        return None
    wrong = _wrong(facts)
    if not wrong:
        return None
    named = _named(facts)
    name, (bad, leads_to) = next(iter(wrong.items()))
    if leads_to == _LOOPBACK:
        message = (
            f"{name}{where(named[name])} is {bad}, which takes the place of NCCL's own exclusion of lo: each node of "
            "this job offers 127.0.0.1 to the others, and they never meet."
        )
        return Problem(message, (f"{name}={bad}{where(named[name])}",), _WHY_LOOPBACK, severity=Severity.ERROR)
    rdma = name == HCA
    kind, there = ("RDMA device", facts.host.rdma_devices) if rdma else ("network interface", facts.host.interfaces)
    names = sorted(known(there), key=lambda one: one.startswith(_LOCAL))
    listed = ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
    here = f" ({listed})" if listed else ""
    message = f"{name}{where(named[name])} names {bad}, which matches no {kind} of this machine{here}: {leads_to}."
    fatal = SOCKET in wrong and len(gpus_of(facts)) > 1
    evidence = tuple(f"{each}={named[each].value}{where(named[each])}" for each in wrong)
    return Problem(message, evidence, severity=Severity.ERROR if fatal else None)
