"""Troubles in other places than the tables of tests/checks have them, so that two of them can meet on one GPU."""

from typing import Any

import msgspec

from gpudoctor.facts import Facts, Framework
from tests.builders import framework, live, nvidia_host
from tests.checks import healthy_nvidia as nv
from tests.checks.amd_machines import amd_host, instinct_node
from tests.checks.environments import environment
from tests.checks.nvidia_machines import event, having, xid

SECOND = "0000:02:00.0"


def more() -> list[Facts]:
    """The machines; which checks find something there, they say themselves."""
    return [*_second_gpu(), *_fabric(), *_frameworks(), *_amd()]


def _second_gpu() -> list[Facts]:
    """GPU 1 is the one that is ill."""
    two = nvidia_host(2)
    fields: tuple[dict[str, Any], ...] = (
        {"ecc_uncorrected": 14},
        {"remap_failed": True},
        {"status": "lost"},
        {"recovery_action": "reset"},
    )
    board = nv.several(2, 0, changes=nv.H100)
    return [
        *(having(two, **{f"gpus__1__{name}": value}) for one in fields for name, value in one.items()),
        *(having(board, **{f"gpus__1__{name}": value}) for one in fields for name, value in one.items()),
        having(two, gpus__1__recovery_action="reset", log__events=(xid(62, gpu=SECOND),)),
        having(two, log__now=6000.0, log__events=(xid(31, 7, SECOND),)),
    ]


def _fabric() -> list[Facts]:
    board = nv.hgx(nv.H100, 4)
    line = "nvidia-uvm: request_free_mem_region() failed"
    failed = having(board, nvidia__cuda__code=802)
    return [
        having(failed, log__events=(event("uvm-hmm", line),)),
        having(failed, nvidia__kernel__fabric_manager="inactive"),
        having(board, gpus__0__fabric_status=1, nvidia__cuda__code=802),
    ]


def _frameworks() -> list[Facts]:
    """Two things that are wrong with one PyTorch."""
    blind = live(0, error="No CUDA GPUs are available")

    def with_(**changes: Any) -> Facts:
        found: Framework = framework(**changes)
        return environment(found)

    return [with_(variant="cpu", cuda=None, archs=()), with_(live=blind), with_(variant="rocm", hip="6.4", cuda=None)]


def _amd() -> list[Facts]:
    cut = instinct_node(2, 8)
    few: Any = having(cut, gpus=cut.gpus[:9])  # type: ignore[index]
    third = msgspec.structs.replace(cut.pci[1], address="0000:03:00.0", driver=None)  # type: ignore[index]
    return [
        having(amd_host(), host__container="docker", amd__kfd=(), amd__loaded=False),
        amd_host(archs=("gfx900",)),
        having(few, pci=(*few.pci, third)),  # KFD lists less of one card, nothing drives another
    ]
