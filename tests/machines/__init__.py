"""Machines for tests that do not fit into tests/builders.py."""

from typing import Any

from gpudoctor.facts import Amd, Facts, Gpu, Group, KernelLog, Node, PciDevice, User
from tests.builders import host, plain_host

GROUPS = (Group(gid=44, name="video"), Group(gid=110, name="render"))


def amd_host(user: User | None = None, **changes: Any) -> Facts:
    """A healthy workstation with an RX 7900 XTX, the in-tree driver and ROCm 6.3."""
    user = user or User(uid=1000, name="a", groups=(Group(gid=1000), *GROUPS), known_groups=GROUPS)
    card = PciDevice(
        address="0000:03:00.0",
        vendor="1002",
        device="744c",
        class_code="030000",
        name="Navi 31 [Radeon RX 7900 XT/7900 XTX]",
        driver="amdgpu",
        chip="Navi 31",
        generation=None,
        capability=None,
        gfx="gfx1100",
        integrated=False,
        link_generation=4,
        link_width=16,
        link_generation_max=4,
        link_width_max=16,
        power_state="D0",
        runtime_status="active",
    )
    gpu = Gpu(
        vendor="amd",
        index=0,
        address=card.address,
        name="Radeon RX 7900 XTX",
        capability=None,
        gfx="gfx1100",
        generation=None,
        integrated=False,
        status="ok",
        memory=24 << 30,
        memory_used=100 << 20,
        utilisation=0,
        processes=(),
        render_node="/dev/dri/renderD128",
    )
    amd = Amd(
        loaded=True,
        version=None,
        kfd=(Node(path="/dev/kfd", mode="660", uid=0, gid=110, error=None),),
        render=(Node(path="/dev/dri/renderD128", mode="660", uid=0, gid=110, error=None),),
        topology=True,
        dkms=None,
        packages=(),
        rocm="6.3.4",
        rocm_path="/opt/rocm",
        blacklisted=False,
        dxg=False,
    )
    plain: dict[str, Any] = {
        "host": host(user=user),
        "pci": (card,),
        "amd": amd,
        "gpus": (gpu,),
        "log": KernelLog(source="/dev/kmsg", events=(), first=0.0),
    }
    return plain_host(**(plain | changes))
