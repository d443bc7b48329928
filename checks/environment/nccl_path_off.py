"""A variable keeps NCCL from using NVLink or shared memory."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts, NcclSetting
from gpudoctor.fixes.nccl import withdraw
from gpudoctor.queries.driver import several_gpus
from gpudoctor.queries.nccl import setting, where
from gpudoctor.targets import gpus_of

P2P, SHM = "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"


def _on(facts: Facts, name: str) -> NcclSetting | None:
    """What disables a path. NCCL reads these as numbers: anything but 0 disables it."""
    one = setting(facts, name)
    return one if one and number_of(one.value.strip()) else None


def _linked(facts: Facts) -> int:
    """How many GPUs have NVLinks that are up."""
    return sum(isinstance(g.nvlinks, tuple) and any(g.nvlinks) for g in gpus_of(facts, "nvidia"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = [one for name in (P2P, SHM) if (one := _on(facts, name))]
    why = "If it was set because NCCL hangs: disable ACS and IOMMU translation instead."
    return withdraw(facts, *found, why=why if _on(facts, P2P) else "")


@check(
    title="NCCL_P2P_DISABLE keeps NCCL from its fastest path between GPUs",
    severity=Severity.WARNING,
    cause="The variable is meant for finding out which path fails. While it is set, NCCL sends all data between the "
    "GPUs of this machine over a slower path: shared memory instead of NVLink, or the network instead of shared "
    "memory.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
    targets=several_gpus,
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def nccl_path_off(facts: Facts) -> Problem | None:
    """P2P is disabled although GPUs have active NVLinks; or both P2P and shared memory are disabled."""
    p2p, shm = _on(facts, P2P), _on(facts, SHM)
    lines = tuple(f"{one.name}={one.value}{where(one)}" for name in (P2P, SHM) if (one := setting(facts, name)))
    if p2p and shm:
        return Problem(f"{P2P} and {SHM} are set: NCCL sends all data between the GPUs through network sockets.", lines)
    linked = _linked(facts)
    if not p2p or linked < 2:
        return None
    return Problem(f"{P2P} is set{where(p2p)}: NCCL does not use NVLink between the {linked} GPUs.", lines)
