"""Machines with Intel's GPUs."""

from typing import Any

import msgspec

from gpudoctor.facts import DeviceNode, Facts, Framework, IntelFacts, Package, User, UserGroup
from tests.builders import card, change, framework, host, live, plain_host, python

ARC = card(
    2, vendor="8086", device="56a0", name="DG2 [Arc A770]", driver="i915", chip=None, generation=None, capability=None,
    bar1=16 << 30,
)  # fmt: skip
UHD = card(
    vendor="8086", device="4680", address="0000:00:02.0", name="UHD Graphics 770", driver="i915", chip=None,
    generation=None, capability=None, integrated=True, bar1=None,
)  # fmt: skip
OPEN = DeviceNode(path="/dev/dri/renderD128", mode="660", uid=0, gid=109, major=226, minor=128, error=None)
CLOSED = msgspec.structs.replace(OPEN, error="EACCES")
STACK = IntelFacts(
    render=(OPEN,),
    loader="/usr/lib/x86_64-linux-gnu/libze_loader.so.1",
    level_zero="/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1",
    runtime_build=37435,
    opencl=True,
    legacy=False,
)


def xpu(gpus: int = 1, **changes: Any) -> Framework:
    """PyTorch's XPU build, imported."""
    plain = {"variant": "xpu", "cuda": None, "archs": (), "live": live(gpus)}
    return framework(version="2.9.1+xpu", **(plain | changes))


def arc_host(*frameworks: Framework, packages: tuple[str, ...] = (), **changes: Any) -> Facts:
    """A workstation with an Arc A770 that works, and an environment."""
    user = User(uid=1000, name="a", groups=(UserGroup(gid=1000),), known_groups=(UserGroup(gid=109, name="render"),))
    facts = plain_host(
        host=host(user=user), pci=(UHD, ARC), intel=STACK, pythons=(python(*frameworks),) if frameworks else ()
    )
    if packages:
        found = tuple(Package(name=n, version=v, directory="/x") for n, v in (p.split("==") for p in packages))
        facts = change(facts, "pythons.0.packages", found)
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts
