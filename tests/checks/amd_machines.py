"""Machines with AMD GPUs for the tests of checks."""

from typing import Any

import msgspec

from gpudoctor.facts import Amd, Facts, Gpu, Node, User
from gpudoctor.facts.host import Group
from tests.builders import card, framework, gpu, host, plain_host, python

RENDER, VIDEO = Group(gid=110, name="render"), Group(gid=44, name="video")
IGPU = gpu(1, vendor="amd", name="Raphael", gfx="gfx1036", integrated=True, capability=None, uuid=None)
RADEON = gpu(0, vendor="amd", name="Radeon RX 7900 XTX", gfx="gfx1100", capability=None, uuid=None)


def kfd(**changes: Any) -> Node:
    """/dev/kfd as udev makes it."""
    plain: dict[str, Any] = {"path": "/dev/kfd", "mode": "660", "uid": 0, "gid": 110, "major": 235, "minor": 0}
    return Node(**(plain | {"error": None} | changes))


def render(**changes: Any) -> Node:
    """A render node as udev makes it."""
    plain: dict[str, Any] = {"path": "/dev/dri/renderD128", "mode": "660", "uid": 0, "gid": 110, "major": 226}
    return Node(**(plain | {"minor": 128, "error": None} | changes))


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
        "blacklisted": False,
        "dxg": False,
    }
    cards = tuple(
        card(n, vendor="1002", driver="amdgpu", gfx=g.gfx, capability=None, name=g.name, integrated=g.integrated)
        for n, g in enumerate(gpus)
    )
    torch = framework("torch", "2.7.1+rocm6.3", cuda=None, hip="6.3.42134", variant="rocm", archs=archs)
    user = User(uid=1000, name="ada", groups=(VIDEO, RENDER), known_groups=(RENDER, VIDEO))
    facts = plain_host(host=host(user=user), pci=cards, gpus=gpus, pythons=(python(torch),))
    return msgspec.structs.replace(facts, amd=Amd(**(plain | amd)))
