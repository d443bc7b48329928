"""Machines with AMD GPUs for the tests of checks."""

from typing import Any

import msgspec

from gpudoctor.facts import Amd, Board, DeviceNode, Facts, Gpu, Rocminfo, RocrAgent, User
from gpudoctor.facts.host import UserGroup
from gpudoctor.maybe import known_or, text_of
from tests.builders import card, change, framework, gpu, host, live, plain_host, python

RENDER, VIDEO = UserGroup(gid=110, name="render"), UserGroup(gid=44, name="video")
IGPU = gpu(1, vendor="amd", name="Raphael", gfx="gfx1036", integrated=True, capability=None, uuid=None)
RADEON = gpu(0, vendor="amd", name="Radeon RX 7900 XTX", gfx="gfx1100", capability=None, uuid=None)


def kfd(**changes: Any) -> DeviceNode:
    """/dev/kfd as udev makes it."""
    plain: dict[str, Any] = {"path": "/dev/kfd", "mode": "660", "uid": 0, "gid": 110, "major": 235, "minor": 0}
    return DeviceNode(**(plain | {"error": None} | changes))


def render(**changes: Any) -> DeviceNode:
    """A render node as udev makes it."""
    plain: dict[str, Any] = {"path": "/dev/dri/renderD128", "mode": "660", "uid": 0, "gid": 110, "major": 226}
    return DeviceNode(**(plain | {"minor": 128, "error": None} | changes))


def board(address: str, **changes: Any) -> Board:
    """A Radeon card: not divided, in no hive, without RAS, its clocks its own."""
    plain: dict[str, Any] = {
        "compute_partition": None,
        "memory_partition": None,
        "hive": None,
        "pages_retired": None,
        "pages_pending": None,
        "vram": None,
        "performance_level": "auto",
    }
    return Board(address=address, **(plain | changes))


def instinct_node(cards: int = 8, parts: int = 1, iommu: str | None = "identity", **changes: Any) -> Facts:
    """A node of MI300X cards in one hive, each divided into so many GPUs; `changes` are those of every card."""
    gpus = tuple(
        gpu(
            n,
            vendor="amd",
            name="AMD Instinct MI300X",
            gfx="gfx942",
            capability=None,
            uuid=None,
            address=f"0000:{n // parts + 1:02x}:00.0",
            memory=(192 << 30) // parts,
            ecc=True,
            ecc_uncorrected=0,
        )
        for n in range(cards * parts)
    )
    plain: dict[str, Any] = {
        "compute_partition": {1: "SPX", 2: "DPX", 4: "QPX", 8: "CPX"}[parts],
        "memory_partition": "NPS1",
        "hive": "13154872410235392",
        "pages_retired": 0,
        "pages_pending": 0,
    }
    facts = amd_host(gpus[::parts], ("gfx90a", "gfx942"), closed_nodes=0)
    devices = tuple(
        msgspec.structs.replace(c, device="74a1", bar1=256 << 30, iommu=iommu) for c in known_or(facts.pci, ())
    )
    reported = tuple(board(c.address, **(plain | changes)) for c in devices)
    node = change(change(facts, "gpus", gpus), "pci", devices)
    seen = change(node, "pythons.0.frameworks.0.live", live(len(gpus)))
    return change(seen, "amd.boards", reported)


def listing(gpus: tuple[Gpu, ...] = (RADEON,), **changes: Any) -> Rocminfo:
    """What rocminfo shows of a machine with these GPUs."""
    agents = tuple(RocrAgent(gfx=text_of(g.gfx), name="AMD Radeon Graphics") for g in gpus)
    return Rocminfo(**({"path": "/opt/rocm/bin/rocminfo", "agents": agents} | changes))


def amd_host(gpus: tuple[Gpu, ...] = (RADEON,), archs: tuple[str, ...] = ("gfx1030", "gfx1100"), **amd: Any) -> Facts:
    """A healthy machine with AMD GPUs, ROCm 6.3 and a PyTorch wheel for it; a user in render and video."""
    plain: dict[str, Any] = {
        "loaded": True,
        "version": None,
        "kfd": (kfd(),),
        "render": (render(),),
        "topology": True,
        "dkms": None,
        "packages": (),
        "rocm": "6.3.4",
        "rocm_path": "/opt/rocm",
        "hip": "/opt/rocm/lib/libamdhip64.so.6",
        "blas_path": None,
        "blas": (),
        "hip_lacks": (),
        "unloadable": (),
        "blacklisted": False,
        "dxg": False,
        "rocdxg": None,
        "repositories": (),
        "opens_for_caller": None,
        "gtt_size": None,
        "ttm_limit": 16 << 30,
        "rocminfo": (listing(gpus),),
        "ttm_asked": (),
    }
    cards = tuple(
        card(
            n,
            vendor="1002",
            driver="amdgpu",
            gfx=g.gfx,
            capability=None,
            name=g.name,
            integrated=g.integrated,
            bar1=g.memory,
            iommu="DMA-FQ",
        )
        for n, g in enumerate(gpus)
    )
    plain["boards"] = () if amd.get("loaded") is False else tuple(board(c.address) for c in cards)
    seen = live(max(1, len(gpus)))
    torch = framework(
        "torch", "2.7.1+rocm6.3", cuda=None, hip="6.3.42134", variant="rocm", archs=archs, blas=archs, live=seen
    )
    user = User(uid=1000, name="ada", groups=(VIDEO, RENDER), known_groups=(RENDER, VIDEO))
    facts = plain_host(host=host(user=user), pci=cards, gpus=gpus, pythons=(python(torch),))
    return msgspec.structs.replace(facts, amd=Amd(**(plain | amd)))
